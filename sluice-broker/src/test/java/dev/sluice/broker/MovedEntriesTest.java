package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

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

  private MovedEntry entry(long firstSequence, long sequence) {
    Line line = broker.line("q");
    Route route = line.enter(new Route.Spec("k", 1, 0, Collections.emptySortedMap()), 0);
    return new MovedEntry(line, sequence, route, 1, 0, MessageId.of(7, firstSequence));
  }

  /** Numbers lie close together, and each opening of a store begins far away from the others. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void messagesThatMoveAgainAndAgain_areFoundByTheirFirstNumber(long seed) {
    broker.create("q", QueueConfig.defaults());
    Random random = new Random(seed);
    MovedEntries entries = new MovedEntries();
    Map<Long, MovedEntry> model = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      long number = ((long) random.nextInt(3) << 40) + random.nextInt(i < 10_000 ? 3_000 : 50);
      MovedEntry before = model.get(number);
      if (before == null || random.nextBoolean()) {
        MovedEntry next = entry(number, i);
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
    Deque<MovedEntry> left = new ArrayDeque<>(model.values());
    while (!left.isEmpty()) {
      MovedEntry next = left.remove();
      entries.remove(next);
      assertThat(entries.get(next.firstSequence())).isNull();
      left.forEach(each -> assertThat(entries.get(each.firstSequence())).isSameAs(each));
      left = left.size() > 200 ? shortened(left, entries) : left;
    }
  }

  /** Removes most of {@code left}, so that the test does not compare each with each. */
  private static Deque<MovedEntry> shortened(Deque<MovedEntry> left, MovedEntries entries) {
    while (left.size() > 200) {
      entries.remove(left.remove());
    }
    return left;
  }

  @Test
  void entryThatIsNotThere_isNotRemoved() {
    broker.create("q", QueueConfig.defaults());
    MovedEntries entries = new MovedEntries();
    entries.add(entry(5, 6));
    MovedEntry other = entry(5, 7);
    assertThatIllegalStateException().isThrownBy(() -> entries.remove(other));
  }

  /** Messages fill the share of the heap that they may take, and then all become dead letters. */
  @Test
  void storeFullOfDeadLetters_isOpenedWithTheHeapThatItHad() {
    long heap = 128 << 10;
    broker.create("q", QueueConfig.builder().timeToLive(Duration.ofSeconds(1)).build());
    HeapRoom room = broker.engine.state.messageRoom;
    room.bound(heap / Machinery.MESSAGES_SHARE);
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
    assertThat(room.used()).isGreaterThan(heap / Machinery.MESSAGES_SHARE);
    Engine again =
        Recovery.recover(
            broker.store.reopen(),
            new Recovery.Start(broker.now, broker.now, "boot"),
            broker,
            BrokerMetrics.NONE,
            heap);
    assertThat(again.state.messageRoom.used()).isEqualTo(room.used());
  }
}
