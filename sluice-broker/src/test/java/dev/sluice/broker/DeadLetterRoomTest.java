package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.accounting.QueueHeapUsage;
import dev.sluice.broker.internal.accounting.RecoveryHeapCheck;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.engine.QueueAdmin;
import dev.sluice.broker.internal.engine.Recovery;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Messages move to dead letters and back only if there is room; those that cannot move wait. */
final class DeadLetterRoomTest {
  private static final long SECOND = EngineFixture.SECOND;
  private static final long HEAP = 4 << 20;
  private static final long BOUND = HEAP / RecoveryHeapCheck.MESSAGES_SHARE;

  private final SteppedBroker broker = new SteppedBroker();

  private static PreparedMessage message(String key, long timeToLiveNanos) {
    InternedPlacement.Spec route =
        new InternedPlacement.Spec(key, 1, 0, Collections.emptySortedMap());
    byte[] body = MessageEnvelope.encode(Map.of(), new byte[1]);
    return new PreparedMessage(route, body, 0, timeToLiveNanos, null, false);
  }

  private void enqueue(String queue, PreparedMessage... messages) {
    broker.engine.enqueueHandler.enqueue(queue, List.of(messages), new CompletableFuture<>());
    broker.step();
  }

  /** Fills the heap with two messages of each key, which expire after so many seconds or never. */
  private int fill(long first, long second) {
    broker.create("q", QueueConfig.builder().maxAttempts(1).build());
    broker.create("other", QueueConfig.defaults());
    broker.engine.state.messageHeap.bound(BOUND);
    for (int pairs = 0; ; pairs++) {
      String key = pairs + "x".repeat(200);
      try {
        enqueue("q", message(key, first * SECOND), message(key, second * SECOND));
      } catch (BrokerException full) {
        assertThat(full.code()).isEqualTo(Code.HEAP_FULL);
        return pairs;
      }
    }
  }

  private void pass(long seconds) {
    broker.now += seconds * SECOND;
    broker.step();
  }

  private long depth(String queue) {
    return broker.line(queue).depth;
  }

  /** The heap that counts against the bound, and what dead letters may take beyond it. */
  private void assertWithinBound() {
    long movedIds = depth("q.dlq") * QueueHeapUsage.MOVED_ID_BYTES;
    assertThat(broker.engine.state.messageHeap.used() - movedIds)
        .isLessThanOrEqualTo(BOUND - BOUND / 8 + BOUND / 64);
  }

  private void assertOpensAgain() {
    Recovery.Start start = new Recovery.Start(broker.now, broker.now, "boot");
    BrokerEngine again =
        Recovery.recover(broker.store.reopen(), start, broker, BrokerMetrics.NONE, HEAP);
    assertThat(again.state.messageHeap.used()).isEqualTo(broker.engine.state.messageHeap.used());
  }

  @Test
  void messagesWithoutRoomForTheirPlacement_wait_andMoveWhenThereIsRoom() {
    int pairs = fill(60, 0);
    pass(120);
    assertThat(depth("q.dlq")).isBetween(1L, pairs / 10L);
    assertThat(depth("q") + depth("q.dlq")).isEqualTo(2L * pairs);
    assertWithinBound();
    enqueue("other", message("k", 0));
    broker.consume("q", 2 * pairs);
    List<PendingDelivery> live = broker.taken();
    assertThat(live).hasSize(pairs);
    live.forEach(broker::ack);
    pass(5);
    assertThat(depth("q")).isZero();
    assertThat(depth("q.dlq")).isEqualTo(pairs);
    assertWithinBound();
  }

  @Test
  void messagesThatWaitForRoom_areNoReasonToRefuseAStart() {
    int pairs = fill(60, 0);
    pass(120);
    assertThat(depth("q")).isGreaterThan(pairs);
    assertOpensAgain();
  }

  @Test
  void messagesThatAllExpire_becomeDeadLetters_withoutHelp() {
    int pairs = fill(60, 90);
    pass(60);
    for (int i = 0; i < 100 && depth("q") > 0; i++) {
      assertWithinBound();
      pass(5);
    }
    assertThat(depth("q")).isZero();
    assertThat(depth("q.dlq")).isEqualTo(2L * pairs);
    assertOpensAgain();
  }

  @Test
  void failedMessageWithoutRoom_isTriedAgain() {
    int pairs = fill(0, 0);
    broker.consume("q", 2 * pairs);
    List<PendingDelivery> leased = broker.taken();
    assertThat(leased).hasSize(2 * pairs);
    for (int i = 0; i < leased.size(); i += 2) {
      broker.nack(leased.get(i), new FailureHandler.Nack("no", null));
    }
    assertWithinBound();
    assertThat(depth("q.dlq")).isBetween(1L, pairs / 10L);
    assertThat(depth("q") + depth("q.dlq")).isEqualTo(2L * pairs);
    for (int i = 1; i < leased.size(); i += 2) {
      broker.ack(leased.get(i));
    }
    pass(2);
    List<PendingDelivery> again = broker.taken();
    assertThat(again).isNotEmpty();
    again.forEach(each -> broker.nack(each, new FailureHandler.Nack("no", null)));
    assertThat(depth("q")).isZero();
    assertThat(depth("q.dlq")).isEqualTo(pairs);
  }

  private List<MessageEntry> claim(int limit) {
    CompletableFuture<List<MessageEntry>> claimed = new CompletableFuture<>();
    broker.engine.queueAdmin.claimDeadLetters(
        new QueueAdmin.DeadLetterClaim("q.dlq", limit, 0, Long.MAX_VALUE, () -> false), claimed);
    broker.step();
    return claimed.join();
  }

  private int redrive(List<MessageEntry> claimed) {
    CompletableFuture<Integer> moved = new CompletableFuture<>();
    List<InternedPlacement.Spec> routes =
        claimed.stream().map(entry -> entry.placement.spec).toList();
    broker.engine.queueAdmin.redrive(claimed, routes, moved);
    broker.step();
    return moved.join();
  }

  @Test
  void redrivesThatRunTogether_keepMaxDepth() {
    broker.create("q", QueueConfig.builder().maxDepth(10).build());
    broker.enqueue("q.dlq", 40);
    List<List<MessageEntry>> claims = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      claims.add(claim(10));
    }
    assertThat(claims).allSatisfy(each -> assertThat(each).hasSize(10));
    broker.enqueue("q", 3);
    assertThat(redrive(claims.get(0))).isEqualTo(7);
    assertThatExceptionOfType(BrokerException.class)
        .isThrownBy(() -> redrive(claims.get(1)))
        .withMessage("the queue is full: queue=q, maxDepth=10");
    broker.step();
    assertThat(depth("q")).isEqualTo(10);
    assertThat(depth("q.dlq")).isEqualTo(33);
    assertThat(broker.line("q.dlq").waiting()).isEqualTo(13);
  }

  @Test
  void redrive_keepsMaxDepthPerKey() {
    broker.create("q", QueueConfig.builder().maxDepthPerKey(2).build());
    enqueue("q.dlq", message("a", 0), message("a", 0), message("a", 0), message("b", 0));
    assertThat(redrive(claim(10))).isEqualTo(3);
    assertThatExceptionOfType(BrokerException.class)
        .isThrownBy(() -> redrive(claim(10)))
        .withMessage("the fairness key is full: queue=q, key=a, maxDepthPerKey=2");
    broker.step();
    assertThat(broker.line("q.dlq").waiting()).isEqualTo(1);
  }
}
