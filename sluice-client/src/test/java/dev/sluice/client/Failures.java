package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.sluice.client.SluiceClientException.Code;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.AbstractStringAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Asserts how something fails. */
final class Failures {
  private Failures() {}

  static AbstractStringAssert<?> assertFails(Code code, ThrowingCallable call) {
    return check(code, catchThrowable(call));
  }

  static AbstractStringAssert<?> assertFails(Code code, CompletableFuture<?> answer) {
    Throwable failure = catchThrowable(() -> answer.get(20, TimeUnit.SECONDS));
    assertThat(failure).isInstanceOf(java.util.concurrent.ExecutionException.class);
    return check(code, failure.getCause());
  }

  private static AbstractStringAssert<?> check(Code code, Throwable failure) {
    assertThat(failure).isInstanceOf(SluiceClientException.class);
    assertThat(((SluiceClientException) failure).code()).as(failure.getMessage()).isEqualTo(code);
    return assertThat(failure.getMessage());
  }
}
