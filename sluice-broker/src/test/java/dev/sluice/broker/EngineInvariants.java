package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.accounting.ReadyAgeHistogram;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.MessageEntry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Checks the state of an engine between two steps of a simulation. */
final class EngineInvariants {
  private EngineInvariants() {}

  /** A message without throttle keys does not wait while its queue has consumers with credit. */
  static void noReadyMessageWaits(EngineState state) {
    List<MessageEntry> pending =
        state.index.find(entry -> entry.stage == MessageEntry.Stage.PENDING);
    for (MessageEntry entry : pending) {
      boolean free =
          entry.placement.spec.throttleKeys().isEmpty()
              && !entry.queue.config.strictOrder()
              && entry.queue.config.maxInFlightPerKey() == 0;
      assertThat(free && entry.queue.fairQueue.credit() > 0).as("held up: %s", entry).isFalse();
    }
  }

  /** The counters of a queue are those of its messages. */
  static void consistent(EngineState state, BrokerQueue queue) {
    Map<MessageEntry.Stage, Long> stages = new HashMap<>();
    long depth = 0;
    int now = ReadyAgeHistogram.second(state.now);
    int oldest = now;
    for (MessageEntry entry : state.index.find(each -> each.queue == queue)) {
      stages.merge(entry.stage, 1L, Long::sum);
      oldest =
          entry.stage == MessageEntry.Stage.PENDING ? Math.min(oldest, entry.readySince) : oldest;
      assertThat(state.index.get(entry.id())).as("found by its id").isSameAs(entry);
      depth++;
    }
    assertThat(queue.depth).isEqualTo(depth);
    assertThat(queue.leased).isEqualTo(stages.getOrDefault(MessageEntry.Stage.LEASED, 0L));
    assertThat(queue.delayed).isEqualTo(stages.getOrDefault(MessageEntry.Stage.DELAYED, 0L));
    assertThat(queue.waiting())
        .isEqualTo(queue.delayed + stages.getOrDefault(MessageEntry.Stage.PENDING, 0L));
    assertThat(stages).doesNotContainKey(MessageEntry.Stage.GONE);
    assertThat(queue.stats(List.of(), state.now).oldestReady()).hasSeconds(now - oldest);
  }

  /** The heap of all messages is that of the queues. */
  static void heapIsThatOfQueues(EngineState state) {
    assertThat(state.queues.values().stream().mapToLong(each -> each.messageHeap.used()).sum())
        .isEqualTo(state.messageHeap.used());
  }

  /** After a crash there may be more in flight, if acknowledgements were lost; but no new ones. */
  static void withinMaxInFlight(EngineState state, MessageEntry leased) {
    int max = leased.queue.config.maxInFlightPerKey();
    String key = leased.placement.spec.fairnessKey();
    int inFlight =
        state
            .index
            .find(
                any ->
                    any.queue == leased.queue
                        && any.placement.spec.fairnessKey().equals(key)
                        && any.lease() != null)
            .size();
    assertThat(max > 0 && inFlight > max).as("too many of %s in flight", key).isFalse();
  }
}
