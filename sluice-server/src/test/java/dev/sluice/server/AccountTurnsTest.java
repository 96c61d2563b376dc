package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.operations.AccountTurns;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tasks of one account take turns; tasks of other accounts do not wait for them. */
final class AccountTurnsTest {
  private static final int AT_ONCE = 2;
  private static final Object TENANT = "tenant";
  private static final Object OTHER = "other";

  private final AccountTurns turns = new AccountTurns(AT_ONCE);
  private final List<CompletableFuture<Integer>> begun = new ArrayList<>();
  private final List<CompletableFuture<Integer>> results = new ArrayList<>();

  /** Submits a task that runs until its future in {@code begun} is completed. */
  private void submit(Object owner) {
    results.add(
        turns.run(
            owner,
            () -> {
              CompletableFuture<Integer> running = new CompletableFuture<>();
              begun.add(running);
              return running;
            }));
  }

  @Test
  void tasksOfOneAccount_waitForATurn() {
    submit(TENANT);
    submit(TENANT);
    submit(TENANT);
    assertThat(begun).hasSize(AT_ONCE);
    begun.get(1).complete(7);
    assertThat(results.get(1)).isCompletedWithValue(7);
    assertThat(begun).hasSize(3);
    assertThat(results.get(0)).isNotDone();
    begun.get(2).complete(8);
    assertThat(results.get(2)).isCompletedWithValue(8);
  }

  @Test
  void tasksOfAnotherAccount_doNotWait() {
    for (int i = 0; i < 10; i++) {
      submit(TENANT);
    }
    submit(OTHER);
    assertThat(begun).hasSize(AT_ONCE + 1);
  }

  @Test
  void failedTask_releasesItsTurn() {
    submit(TENANT);
    submit(TENANT);
    submit(TENANT);
    begun.get(0).completeExceptionally(new IllegalStateException("closed"));
    assertThat(results.get(0)).isCompletedExceptionally();
    assertThat(begun).hasSize(3);
  }

  @Test
  void taskThatThrows_failsItsResultAndReleasesItsTurn() {
    for (int i = 0; i <= AT_ONCE; i++) {
      CompletableFuture<Integer> thrown =
          turns.run(
              TENANT,
              () -> {
                throw new IllegalStateException("closed");
              });
      assertThat(thrown).isCompletedExceptionally();
    }
    submit(TENANT);
    assertThat(begun).hasSize(1);
  }

  @Test
  void taskThatEndsWithAnError_leavesItsTurn() {
    for (int i = 0; i <= AT_ONCE; i++) {
      CompletableFuture<Integer> thrown =
          turns.run(
              TENANT,
              () -> {
                throw new InternalError("on purpose");
              });
      assertThat(thrown).isCompletedExceptionally();
    }
    submit(TENANT);
    assertThat(begun).hasSize(1);
  }

  @Test
  void manyTasksThatEndAtOnce_needNoDeepStack() {
    submit(TENANT);
    submit(TENANT);
    CompletableFuture<Integer> last = results.get(0);
    for (int i = 0; i < 100_000; i++) {
      int value = i;
      last = turns.run(TENANT, () -> CompletableFuture.completedFuture(value));
    }
    assertThat(last).isNotDone();
    begun.get(0).complete(0);
    assertThat(last).isCompletedWithValue(99_999);
  }
}
