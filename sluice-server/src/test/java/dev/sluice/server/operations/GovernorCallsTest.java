package dev.sluice.server.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class GovernorCallsTest {
  private final GovernorCalls calls = new GovernorCalls(Runnable::run);

  private static void assertUnavailable(CompletableFuture<?> answer, String message) {
    assertThatThrownBy(answer::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            ApiException.class,
            refused -> {
              assertThat(refused.kind()).isEqualTo(ErrorKind.UNAVAILABLE);
              assertThat(refused).hasMessageContaining(message);
            });
  }

  @Test
  void callsBeyondTheBound_areRefused_untilOthersEnd() {
    CompletableFuture<String> store = new CompletableFuture<>();
    CompletableFuture<String> first = calls.call(() -> store);
    for (int i = 1; i < GovernorCalls.MAX_PENDING; i++) {
      assertThat(calls.call(() -> store)).isNotDone();
    }
    assertUnavailable(calls.call(() -> store), "at most 10000 calls may wait for the governor");
    store.complete("done");
    assertThat(first).isCompletedWithValue("done");
    assertThat(calls.call(() -> CompletableFuture.completedFuture("next")))
        .isCompletedWithValue("next");
  }

  @Test
  void canceledCall_countsUntilTheStoreAnswers() {
    CompletableFuture<String> store = new CompletableFuture<>();
    for (int i = 0; i < GovernorCalls.MAX_PENDING; i++) {
      calls.call(() -> store).cancel(false);
    }
    assertThat(store).isNotDone();
    assertUnavailable(calls.call(() -> store), "may wait");
  }

  @Test
  void closedModel_isUnavailable() {
    assertUnavailable(
        calls.call(() -> CompletableFuture.failedFuture(new StoreClosedException("m is closed"))),
        "m is closed");
    assertUnavailable(
        calls.call(
            () -> {
              throw new StoreClosedException("m is closed");
            }),
        "m is closed");
  }

  @Test
  void misuseOfTheStore_isAFaultOfTheServer() {
    assertThatThrownBy(
            calls.call(() -> CompletableFuture.failedFuture(new IllegalStateException("settled")))
                ::join)
        .satisfies(
            fault -> assertThat(ApiException.of(fault).kind()).isEqualTo(ErrorKind.INTERNAL));
  }

  @Test
  void invalidRequest_staysInvalid() {
    assertThatThrownBy(
            calls.call(() -> CompletableFuture.failedFuture(new IllegalArgumentException("tokens")))
                ::join)
        .hasCauseInstanceOf(IllegalArgumentException.class);
  }
}
