package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.sluice.broker.internal.accounting.HeapBudget;
import dev.sluice.broker.internal.accounting.RecoveryHeapCheck;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MovedMessageEntry;
import dev.sluice.broker.internal.engine.MovedMessageIndex;
import dev.sluice.broker.internal.engine.Recovery;
import dev.sluice.broker.internal.store.MessageId;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The index of messages that have moved, and the heap that they take. */
final class MovedEntriesTest {
  private static final long SECOND = EngineFixture.SECOND;

  private final SteppedBroker broker = new SteppedBroker();

  private MovedMessageEntry entry(long firstSequence, long sequence) {
    BrokerQueue line = broker.line("q");
    InternedPlacement route =
        line.addMessage(new InternedPlacement.Spec("k", 1, 0, Collections.emptySortedMap()), 0);
    return new MovedMessageEntry(line, sequence, route, 1, 0, MessageId.of(7, firstSequence));
  }

  /** Numbers lie close together, and each opening of a store begins far away from the others. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void messagesThatMoveAgainAndAgain_areFoundByTheirFirstNumber(long seed) {
    broker.create("q", QueueConfig.defaults());
    Random random = new Random(seed);
    MovedMessageIndex entries = new MovedMessageIndex();
    Map<Long, MovedMessageEntry> model = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      long number = ((long) random.nextInt(3) << 40) + random.nextInt(i < 10_000 ? 3_000 : 50);
      MovedMessageEntry before = model.get(number);
      if (before == null || random.nextBoolean()) {
        MovedMessageEntry next = entry(number, i);
        entries.add(next);
        model.put(number, next);
        assertThat(entries.get(number)).isSameAs(next);
      } else {
        model.remove(number);
      }
      if (before != null) {
        entries.remove(before);
      }
      assertThat(entries.get(number)).isSameAs(model.get(number));
    }
    model.forEach((number, entry) -> assertThat(entries.get(number)).isSameAs(entry));
    Deque<MovedMessageEntry> left = new ArrayDeque<>(model.values());
    while (!left.isEmpty()) {
      MovedMessageEntry next = left.remove();
      entries.remove(next);
      assertThat(entries.get(next.firstSequence())).isNull();
      left.forEach(each -> assertThat(entries.get(each.firstSequence())).isSameAs(each));
      left = left.size() > 200 ? shortened(left, entries) : left;
    }
  }

  /** Removes most of {@code left}, so that the test does not compare each with each. */
  private static Deque<MovedMessageEntry> shortened(
      Deque<MovedMessageEntry> left, MovedMessageIndex entries) {
    while (left.size() > 200) {
      entries.remove(left.remove());
    }
    return left;
  }

  @Test
  void removeOfAnAbsentEntry_changesNothing() {
    broker.create("q", QueueConfig.defaults());
    MovedMessageIndex entries = new MovedMessageIndex();
    entries.add(entry(5, 6));
    MovedMessageEntry other = entry(5, 7);
    assertThatIllegalStateException().isThrownBy(() -> entries.remove(other));
  }

  /** Messages fill the share of the heap that they may take, and then all become dead letters. */
  @Test
  void storeFullOfDeadLetters_opensWithTheHeapItHad() {
    long heap = 128 << 10;
    broker.create("q", QueueConfig.builder().timeToLive(Duration.ofSeconds(1)).build());
    HeapBudget room = broker.engine.state.messageHeap;
    room.bound(heap / RecoveryHeapCheck.MESSAGES_SHARE);
    int accepted = 0;
    try {
      for (; accepted < 10_000; accepted++) {
        broker.enqueue("q", 1);
      }
    } catch (BrokerException full) {
      assertThat(full.code()).isEqualTo(BrokerException.Code.HEAP_FULL);
    }
    broker.now += 2 * SECOND;
    broker.step();
    assertThat(broker.line("q.dlq").depth).isEqualTo(accepted).isPositive();
    assertThat(room.used()).isGreaterThan(heap / RecoveryHeapCheck.MESSAGES_SHARE);
    BrokerEngine again =
        Recovery.recover(
            broker.store.reopen(),
            new Recovery.Start(broker.now, broker.now, "boot"),
            broker,
            BrokerMetrics.NONE,
            heap);
    assertThat(again.state.messageHeap.used()).isEqualTo(room.used());
  }
}
