package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.operations.AccountTurns;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tasks of one account take turns; tasks of other accounts do not wait for them. */
final class AccountTurnsTest {
  private static final int AT_ONCE = 2;
  private static final Caller TENANT = new Caller("tenant", false, List.of(), 0);
  private static final Caller OTHER = new Caller("other", false, List.of(), 0);

  private final AccountTurns turns = new AccountTurns(AT_ONCE);
  private final List<CompletableFuture<Integer>> begun = new ArrayList<>();

  private CompletableFuture<Integer> begin(Caller caller) {
    return turns.run(
        caller,
        () -> {
          CompletableFuture<Integer> running = new CompletableFuture<>();
          begun.add(running);
          return running;
        });
  }

  @Test
  void tasksOfOneAccount_waitForATurn() {
    CompletableFuture<Integer> first = begin(TENANT);
    CompletableFuture<Integer> second = begin(TENANT);
    CompletableFuture<Integer> third = begin(TENANT);
    assertThat(begun).hasSize(AT_ONCE);
    begun.get(1).complete(7);
    assertThat(second).isCompletedWithValue(7);
    assertThat(begun).hasSize(3);
    assertThat(first).isNotDone();
    begun.get(2).complete(8);
    assertThat(third).isCompletedWithValue(8);
  }

  @Test
  void otherAccount_doesNotWait() {
    for (int i = 0; i < 10; i++) {
      begin(TENANT);
    }
    begin(OTHER);
    assertThat(begun).hasSize(AT_ONCE + 1);
  }

  @Test
  void failedTask_leavesItsTurn() {
    CompletableFuture<Integer> first = begin(TENANT);
    begin(TENANT);
    begin(TENANT);
    begun.get(0).completeExceptionally(new IllegalStateException("closed"));
    assertThat(first).isCompletedExceptionally();
    assertThat(begun).hasSize(3);
  }

  @Test
  void taskThatThrows_failsItsResultAndLeavesItsTurn() {
    for (int i = 0; i <= AT_ONCE; i++) {
      CompletableFuture<Integer> thrown =
          turns.run(
              TENANT,
              () -> {
                throw new IllegalStateException("closed");
              });
      assertThat(thrown).isCompletedExceptionally();
    }
    begin(TENANT);
    assertThat(begun).hasSize(1);
  }

  @Test
  void manyTasksThatEndAtOnce_needNoDeepStack() {
    CompletableFuture<Integer> first = begin(TENANT);
    begin(TENANT);
    CompletableFuture<Integer> last = first;
    for (int i = 0; i < 100_000; i++) {
      int value = i;
      last = turns.run(TENANT, () -> CompletableFuture.completedFuture(value));
    }
    assertThat(last).isNotDone();
    begun.get(0).complete(0);
    assertThat(last).isCompletedWithValue(99_999);
  }
}
