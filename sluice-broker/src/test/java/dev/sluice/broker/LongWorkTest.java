package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.MessageIndex;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.engine.QueueAdmin;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Purge, delete and redrive do a bounded part of their work in each step of the engine. */
final class LongWorkTest {
  private static final int OTHERS = 2 * MessageIndex.MAX_VISITS + 1_000;

  /** Steps in which a walk meets all messages of others and a few more. */
  private static final int STEPS = 3;

  private final SteppedBroker broker = new SteppedBroker();

  @BeforeEach
  void fill() {
    broker.create("others", QueueConfig.defaults());
    broker.create("q", QueueConfig.builder().dedupeWindow(Duration.ofDays(1)).build());
    broker.enqueue("others", OTHERS);
  }

  /** Returns the number of ticks until {@code call} is answered. */
  private int ticksUntil(CompletableFuture<?> call) {
    broker.commit();
    int ticks = 0;
    for (; !call.isDone() && ticks < 100; ticks++) {
      broker.engine.tick();
      broker.commit();
    }
    return ticks;
  }

  private CompletableFuture<Long> purge(String queue) {
    CompletableFuture<Long> purged = new CompletableFuture<>();
    broker.engine.queueAdmin.purge(queue, purged);
    return purged;
  }

  private CompletableFuture<Void> delete(String queue) {
    CompletableFuture<Void> deleted = new CompletableFuture<>();
    broker.engine.queueAdmin.delete(queue, null, deleted);
    return deleted;
  }

  private CompletableFuture<List<MessageEntry>> claim(int limit, BooleanSupplier canceled) {
    CompletableFuture<List<MessageEntry>> claimed = new CompletableFuture<>();
    broker.engine.queueAdmin.claimDeadLetters(
        new QueueAdmin.DeadLetterClaim("q.dlq", limit, 0, Long.MAX_VALUE, canceled), claimed);
    return claimed;
  }

  @Test
  void search_visitsABoundedNumberOfMessages_andContinuesWhereItStopped() {
    List<Long> visited = new ArrayList<>();
    MessageIndex index = broker.engine.state.index;
    long next = 0;
    for (int step = 1; step <= STEPS; step++) {
      int before = visited.size();
      MessageIndex.SearchStep found =
          index.search(next, Long.MAX_VALUE, 10, entry -> !visited.add(entry.sequence));
      assertThat(found.found()).isEmpty();
      assertThat(visited.size() - before).isLessThanOrEqualTo(MessageIndex.MAX_VISITS);
      next = found.next();
    }
    assertThat(next).isEqualTo(Long.MAX_VALUE);
    assertThat(visited).hasSize(OTHERS).doesNotHaveDuplicates().isSorted();
  }

  @Test
  void search_stopsAtItsLimit_andAtTheEndOfItsRange() {
    MessageIndex index = broker.engine.state.index;
    long first = index.find(any -> true).get(0).sequence;
    MessageIndex.SearchStep some = index.search(first + 2, first + 6, 3, any -> true);
    assertThat(some.found()).extracting(each -> each.sequence - first).containsExactly(2L, 3L, 4L);
    MessageIndex.SearchStep last = index.search(some.next(), first + 6, 3, any -> true);
    assertThat(last.found()).extracting(each -> each.sequence - first).containsExactly(5L);
    assertThat(last.next()).isEqualTo(first + 6);
  }

  @Test
  void callsForAnEmptyQueue_areAnsweredAtOnce() {
    CompletableFuture<Long> purged = purge("q");
    CompletableFuture<List<MessageEntry>> claimed = claim(1, () -> false);
    CompletableFuture<Void> deleted = delete("q");
    assertThat(ticksUntil(deleted)).isZero();
    assertThat(purged.join()).isZero();
    assertThat(claimed.join()).isEmpty();
    assertThat(broker.engine.state.queues).doesNotContainKeys("q", "q.dlq");
  }

  @Test
  void purge_goesThroughMessagesOfOthersInSteps() {
    broker.enqueue("q", 2);
    CompletableFuture<Long> purged = purge("q");
    assertThat(ticksUntil(purged)).isEqualTo(STEPS);
    assertThat(purged.join()).isEqualTo(2);
    assertThat(broker.line("others").depth).isEqualTo(OTHERS);
  }

  @Test
  void delete_goesThroughMessagesOfOthersInSteps() {
    broker.enqueue("q", 2);
    broker.enqueue("q.dlq", 2);
    assertThat(ticksUntil(delete("q"))).isEqualTo(STEPS);
    assertThat(broker.engine.state.index.size()).isEqualTo(OTHERS);
  }

  @Test
  void claim_goesThroughMessagesOfOthersInSteps_andTakesTurns() {
    broker.enqueue("q.dlq", 2);
    CompletableFuture<List<MessageEntry>> first = claim(1, () -> false);
    CompletableFuture<List<MessageEntry>> second = claim(1, () -> false);
    assertThat(ticksUntil(first)).isEqualTo(2 * STEPS - 1);
    assertThat(ticksUntil(second)).isEqualTo(1);
    assertThat(first.join()).hasSize(1).doesNotContainAnyElementsOf(second.join());
  }

  @Test
  void canceledClaim_takesNothing() {
    broker.enqueue("q.dlq", 1);
    AtomicBoolean canceled = new AtomicBoolean();
    CompletableFuture<List<MessageEntry>> claimed = claim(1, canceled::get);
    broker.engine.tick();
    assertThat(claimed).isNotDone();
    canceled.set(true);
    assertThat(ticksUntil(claimed)).isEqualTo(1);
    assertThat(claimed.join()).isEmpty();
    assertThat(broker.line("q.dlq").waiting()).isEqualTo(1);
  }

  @Test
  void delete_forgetsDedupeIdsInSteps() {
    List<PreparedMessage> messages = new ArrayList<>();
    for (int i = 0; i < 2_500; i++) {
      messages.add(message(0, "id-" + i));
    }
    enqueueAll("q", messages);
    CompletableFuture<Long> purged = purge("q");
    while (!purged.isDone()) {
      broker.step();
    }
    assertThat(ticksUntil(delete("q"))).isEqualTo(2);
    assertThat(broker.line("others").depth).isEqualTo(OTHERS);
  }

  private static PreparedMessage message(long timeToLiveNanos, String dedupeId) {
    InternedPlacement.Spec route =
        new InternedPlacement.Spec("k", 1, 0, Collections.emptySortedMap());
    byte[] body = MessageEnvelope.encode(Map.of(), new byte[1]);
    return new PreparedMessage(route, body, 0, timeToLiveNanos, dedupeId, false);
  }

  private void enqueueAll(String queue, List<PreparedMessage> messages) {
    broker.engine.enqueueHandler.enqueue(queue, messages, new CompletableFuture<>());
    broker.step();
  }

  /** Runs steps while a batch is being written; returns the size of the next batch. */
  private int workOfNextBatch() {
    for (int i = 0; i < 100; i++) {
      broker.engine.tickAhead();
    }
    return broker.engine.state.batch.changes.size() + broker.engine.state.batch.probes.size();
  }

  @Test
  void messagesThatExpireTogether_areSpreadOverBatches() {
    int count = 20_000;
    enqueueAll("q", Collections.nCopies(count, message(EngineFixture.SECOND, null)));
    broker.now += 2 * EngineFixture.SECOND;
    broker.engine.advanceTo(broker.now);
    assertThat(workOfNextBatch()).isBetween(2_000, 6_000);
    broker.commit();
    // The second batch also has the work that follows from the first.
    assertThat(workOfNextBatch()).isLessThan(12_000);
    broker.step();
    assertThat(broker.line("q").depth).isZero();
    assertThat(broker.line("q.dlq").depth).isEqualTo(count);
  }

  @Test
  void purge_isSpreadOverBatches() {
    broker.enqueue("q", 20_000);
    CompletableFuture<Long> purged = purge("q");
    assertThat(workOfNextBatch()).isBetween(4_096, 6_000);
    broker.step();
    assertThat(purged.join()).isEqualTo(20_000);
  }

  @Test
  void dedupeIdsOfManyQueues_areForgottenInSteps() {
    List<PreparedMessage> messages = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      messages.add(message(0, "id-" + i));
    }
    for (int queue = 0; queue < 20; queue++) {
      broker.create(
          "dedupe" + queue, QueueConfig.builder().dedupeWindow(Duration.ofDays(1)).build());
      enqueueAll("dedupe" + queue, messages);
    }
    broker.now += Duration.ofDays(2).toNanos();
    broker.engine.advanceTo(broker.now);
    broker.engine.tick();
    assertThat(broker.engine.state.batch.changes).hasSizeBetween(4_096, 6_000);
  }

  /** Each may have to visit many fairness keys. */
  @Test
  void changesOfMaxInFlightPerKey_takeTurns_othersAreMadeAtOnce() {
    CompletableFuture<String> first = update("others", config -> config.maxInFlightPerKey(1));
    CompletableFuture<String> second = update("q", config -> config.maxInFlightPerKey(2));
    CompletableFuture<String> third = update("q.dlq", config -> config.maxDepth(3));
    broker.commit();
    assertThat(List.of(first.isDone(), second.isDone(), third.isDone()))
        .containsExactly(false, false, true);
    assertThat(ticksUntil(first)).isEqualTo(1);
    assertThat(second).isNotDone();
    assertThat(ticksUntil(second)).isEqualTo(1);
    assertThat(broker.line("others").config.maxInFlightPerKey()).isEqualTo(1);
    assertThat(second.join()).isEqualTo(broker.line("q").revision());
  }

  private CompletableFuture<String> update(
      String queue, UnaryOperator<QueueConfig.Builder> change) {
    CompletableFuture<String> updated = new CompletableFuture<>();
    QueueConfig config = change.apply(QueueConfig.builder()).build();
    broker.engine.queueAdmin.update(queue, config, broker.line(queue).revision(), updated);
    return updated;
  }
}
