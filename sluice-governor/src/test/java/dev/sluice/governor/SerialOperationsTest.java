package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class SerialOperationsTest {
  private final SerialOperations operations = new SerialOperations();
  private final List<String> begun = new ArrayList<>();

  private CompletableFuture<String> run(String name, CompletableFuture<String> end) {
    return operations.run(
        () -> {
          begun.add(name);
          return end;
        });
  }

  @Test
  void operation_beginsAfterTheEarlierOneHasCompleted() {
    CompletableFuture<String> first = new CompletableFuture<>();
    CompletableFuture<String> result = run("one", first);
    CompletableFuture<String> second = run("two", CompletableFuture.completedFuture("b"));
    assertThat(begun).containsExactly("one");
    assertThat(second).isNotDone();
    first.complete("a");
    assertThat(begun).containsExactly("one", "two");
    assertThat(result).isCompletedWithValue("a");
    assertThat(second).isCompletedWithValue("b");
  }

  @Test
  void failedOperation_doesNotStopLaterOnes() {
    CompletableFuture<String> first = new CompletableFuture<>();
    CompletableFuture<String> failed = run("one", first);
    CompletableFuture<String> thrown =
        operations.run(
            () -> {
              throw new IllegalArgumentException("no");
            });
    CompletableFuture<String> last = run("three", CompletableFuture.completedFuture("c"));
    first.completeExceptionally(new IllegalStateException("closed"));
    assertThatThrownBy(failed::join).hasCauseInstanceOf(IllegalStateException.class);
    assertThatThrownBy(thrown::join).hasCauseInstanceOf(IllegalArgumentException.class);
    assertThat(last).isCompletedWithValue("c");
  }

  @Test
  void manyOperationsThatCompleteAtOnce_doNotOverflowTheStack() {
    CompletableFuture<String> first = new CompletableFuture<>();
    CompletableFuture<String> blocked = run("first", first);
    CompletableFuture<String> last = first;
    for (int i = 0; i < 100_000; i++) {
      last = run("next", CompletableFuture.completedFuture("x"));
    }
    first.complete("a");
    assertThat(last).isCompletedWithValue("x");
    assertThat(blocked).isCompletedWithValue("a");
    assertThat(begun).hasSize(100_001);
  }
}
