package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes of a queue's configuration do not undo each other. */
final class QueueRevisionTest {
  @TempDir private Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private QueueDefinition queue() {
    return broker.queue("q").orElseThrow();
  }

  private static UnaryOperator<QueueConfig> attempts(int attempts) {
    return is -> is.toBuilder().maxAttempts(attempts).build();
  }

  @Test
  void update_withAnOldRevision_isRefused_andChangesNothing() {
    broker.createQueue("q");
    String first = queue().revision();
    String second = broker.updateQueue("q", attempts(3), first);
    assertThat(queue().revision()).isEqualTo(second).isNotEqualTo(first);
    QueueDefinition before = queue();
    assertThatThrownBy(() -> broker.updateQueue("q", attempts(7), first))
        .isInstanceOfSatisfying(
            BrokerException.class,
            refused -> assertThat(refused.code()).isEqualTo(Code.REVISION_MISMATCH))
        .hasMessage(
            "the queue has changed: queue=q, revision=%s, expected=%s".formatted(second, first));
    assertThat(queue()).isEqualTo(before);
    broker.updateQueue("q", attempts(7), second);
    assertThat(queue().config().maxAttempts()).isEqualTo(7);
  }

  /** Revisions can be guessed: the number counts the updates. */
  @Test
  void update_withTheRevisionOfAnUpdateThatComesBetween_isRefused_andDoesNotUndoIt() {
    broker.createQueue("q");
    String first = queue().revision();
    String next = broker.updateQueue("q", attempts(3), first);
    String guessed =
        next.substring(0, next.indexOf('.') + 1)
            + (Integer.parseInt(next.substring(next.indexOf('.') + 1)) + 1);
    UnaryOperator<QueueConfig> overtaken =
        is -> {
          assertThat(broker.updateQueue("q", attempts(5), next)).isEqualTo(guessed);
          return is.toBuilder().maxDepth(7).build();
        };
    assertThatThrownBy(() -> broker.updateQueue("q", overtaken, guessed))
        .hasMessageContaining("the queue has changed");
    assertThat(queue().config().maxDepth()).isZero();
  }

  @Test
  void delete_withAnOldRevision_isRefused_andKeepsTheQueue() {
    broker.createQueue("q");
    String first = queue().revision();
    String second = broker.updateQueue("q", attempts(3), first);
    assertThatThrownBy(() -> broker.deleteQueue("q", first))
        .hasMessageContaining("the queue has changed");
    assertThat(queue().revision()).isEqualTo(second);
    broker.deleteQueue("q", second);
    assertThat(broker.queue("q")).isEmpty();
  }

  @Test
  void revision_survivesARestart() {
    broker.createQueue("q");
    broker.updateQueue("q", attempts(3), null);
    QueueDefinition before = queue();
    broker.close();
    broker = Broker.open(dir);
    assertThat(queue()).isEqualTo(before);
    broker.updateQueue("q", attempts(4), before.revision());
    assertThat(queue().revision()).isNotEqualTo(before.revision());
  }

  @Test
  void revision_ofADeletedQueue_doesNotMatchANewQueueOfThatName() {
    broker.createQueue("q");
    String before = queue().revision();
    broker.deleteQueue("q");
    broker.createQueue("q");
    assertThatThrownBy(() -> broker.updateQueue("q", attempts(3), before))
        .hasMessageContaining("the queue has changed");
  }

  @Test
  void updatesWithoutARevision_atTheSameTime_areAllKept() {
    broker.createQueue("q", QueueConfig.builder().maxAttempts(0).durability(Durability.OS).build());
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      boolean attempts = i % 2 == 0;
      all.add(CompletableFuture.runAsync(() -> count(attempts)));
    }
    all.forEach(CompletableFuture::join);
    assertThat(queue().config().maxAttempts()).isEqualTo(20);
    assertThat(queue().config().maxDepth()).isEqualTo(20);
  }

  private void count(boolean attempts) {
    for (int i = 0; i < 10; i++) {
      broker.updateQueue(
          "q",
          is ->
              attempts
                  ? is.toBuilder().maxAttempts(is.maxAttempts() + 1).build()
                  : is.toBuilder().maxDepth(is.maxDepth() + 1).build(),
          null);
    }
  }
}
