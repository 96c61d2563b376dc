package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.operations.RedriveTurns;
import dev.sluice.server.support.ApiException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Redrives of one account run one at a time, and few of them wait. */
final class RedriveTurnsTest {
  private static final int MOST = 3;
  private static final Caller TENANT = new Caller("tenant", false, List.of(), 0);
  private static final Caller OTHER = new Caller("other", false, List.of(), 0);

  private final ConcurrencyQuota openCalls = new ConcurrencyQuota("calls", 10, MOST);
  private final RedriveTurns turns = new RedriveTurns(openCalls);

  /** The redrives that have begun. */
  private final List<CompletableFuture<Long>> begun = new ArrayList<>();

  private CompletableFuture<Long> redrive(Caller caller) {
    return turns.run(
        caller,
        () -> {
          CompletableFuture<Long> running = new CompletableFuture<>();
          begun.add(running);
          return running;
        });
  }

  private void start(Caller caller) {
    var unused = redrive(caller);
  }

  @Test
  void redrivesOfOneAccount_takeTurns() {
    CompletableFuture<Long> first = redrive(TENANT);
    CompletableFuture<Long> second = redrive(TENANT);
    CompletableFuture<Long> other = redrive(OTHER);
    assertThat(begun).hasSize(2);
    begun.get(1).complete(5L);
    assertThat(other).isCompletedWithValue(5L);
    begun.get(0).complete(6L);
    assertThat(first).isCompletedWithValue(6L);
    begun.get(2).complete(7L);
    assertThat(second).isCompletedWithValue(7L);
    assertThat(openCalls.held()).isZero();
  }

  @Test
  void redriveThatWasCanceledWhileItWaited_doesNotBegin() {
    start(TENANT);
    CompletableFuture<Long> canceled = redrive(TENANT);
    CompletableFuture<Long> next = redrive(TENANT);
    canceled.cancel(false);
    begun.get(0).complete(1L);
    assertThat(begun).hasSize(2);
    begun.get(1).complete(2L);
    assertThat(next).isCompletedWithValue(2L);
    assertThat(openCalls.held()).isZero();
  }

  @Test
  void canceledRedrive_endsAndLeavesItsTurn() {
    CompletableFuture<Long> running = redrive(TENANT);
    start(TENANT);
    running.completeExceptionally(new IllegalStateException("the key was revoked"));
    assertThat(begun.get(0)).isCancelled();
    assertThat(begun).hasSize(2);
    assertThat(openCalls.held()).isEqualTo(1);
  }

  @Test
  void redrivesThatWait_areBoundedForEachAccount() {
    for (int i = 0; i < MOST; i++) {
      start(TENANT);
    }
    assertThatExceptionOfType(ApiException.class)
        .isThrownBy(() -> redrive(TENANT))
        .withMessageContaining("calls of one account must be at most 3 at once, but were 3");
    start(OTHER);
    assertThat(begun).hasSize(2);
  }
}
