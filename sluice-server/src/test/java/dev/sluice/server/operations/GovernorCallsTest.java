package dev.sluice.server.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class GovernorCallsTest {
  private final GovernorCalls calls = new GovernorCalls(Runnable::run);

  private static void assertUnavailable(CompletableFuture<?> answer, String message) {
    assertRefused(answer, ErrorKind.UNAVAILABLE, message);
  }

  private static void assertRefused(CompletableFuture<?> answer, ErrorKind kind, String message) {
    assertThatThrownBy(answer::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            ApiException.class,
            refused -> {
              assertThat(refused.kind()).isEqualTo(kind);
              assertThat(refused).hasMessageContaining(message);
            });
  }

  @Test
  void callsBeyondTheBound_areRefused_untilOthersEnd() {
    CompletableFuture<String> store = new CompletableFuture<>();
    CompletableFuture<String> first = calls.call(Caller.ANYBODY, () -> store);
    for (int i = 1; i < GovernorCalls.MAX_PENDING; i++) {
      assertThat(calls.call(Caller.ANYBODY, () -> store)).isNotDone();
    }
    assertRefused(
        calls.call(Caller.ANYBODY, () -> store),
        ErrorKind.RESOURCE_EXHAUSTED,
        "calls of the governor must be at most 10000 at once");
    store.complete("done");
    assertThat(first).isCompletedWithValue("done");
    assertThat(calls.call(Caller.ANYBODY, () -> CompletableFuture.completedFuture("next")))
        .isCompletedWithValue("next");
  }

  @Test
  void callsOfOneAccount_leaveRoomForOthers() {
    Caller tenant = new Caller("tenant", false, List.of(), ApiKey.NEVER);
    Caller other = new Caller("other", false, List.of(), ApiKey.NEVER);
    CompletableFuture<String> store = new CompletableFuture<>();
    for (int i = 0; i < GovernorCalls.MAX_PENDING / 4; i++) {
      assertThat(calls.call(tenant, () -> store)).isNotDone();
    }
    assertRefused(
        calls.call(tenant, () -> store),
        ErrorKind.RESOURCE_EXHAUSTED,
        "calls of the governor of one account must be at most 2500 at once");
    assertThat(calls.call(other, () -> store)).isNotDone();
    store.complete("done");
    assertThat(calls.call(tenant, () -> store)).isCompletedWithValue("done");
  }

  @Test
  void canceledCall_countsUntilTheStoreAnswers() {
    CompletableFuture<String> store = new CompletableFuture<>();
    for (int i = 0; i < GovernorCalls.MAX_PENDING; i++) {
      calls.call(Caller.ANYBODY, () -> store).cancel(false);
    }
    assertThat(store).isNotDone();
    assertRefused(
        calls.call(Caller.ANYBODY, () -> store), ErrorKind.RESOURCE_EXHAUSTED, "at most 10000");
  }

  @Test
  void closedModel_isUnavailable() {
    assertUnavailable(
        calls.call(
            Caller.ANYBODY,
            () -> CompletableFuture.failedFuture(new StoreClosedException("m is closed"))),
        "m is closed");
    assertUnavailable(
        calls.call(
            Caller.ANYBODY,
            () -> {
              throw new StoreClosedException("m is closed");
            }),
        "m is closed");
  }

  @Test
  void illegalStateOfTheStore_isAnInternalError() {
    assertThatThrownBy(
            calls.call(
                    Caller.ANYBODY,
                    () -> CompletableFuture.failedFuture(new IllegalStateException("settled")))
                ::join)
        .satisfies(
            fault -> assertThat(ApiException.of(fault).kind()).isEqualTo(ErrorKind.INTERNAL));
  }

  @Test
  void invalidRequest_staysInvalid() {
    assertThatThrownBy(
            calls.call(
                    Caller.ANYBODY,
                    () -> CompletableFuture.failedFuture(new IllegalArgumentException("tokens")))
                ::join)
        .hasCauseInstanceOf(IllegalArgumentException.class);
  }
}
