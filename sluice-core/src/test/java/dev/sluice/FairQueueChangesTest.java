package dev.sluice;

import static dev.sluice.Schedules.enqueue;
import static dev.sluice.Schedules.items;
import static dev.sluice.Schedules.serve;
import static dev.sluice.Schedules.serveAll;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.sluice.internal.scheduler.DrrScheduler;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Queues whose items come back, that change their order, or that go. */
class FairQueueChangesTest {
  private static final long SECOND = 1_000_000_000;

  private final FairScheduler<String> scheduler = FairScheduler.create();
  private final FairQueue<String> queue = scheduler.queue("q");
  private final Placement a = Placement.of("a");

  @Test
  void requeue_inAnyOrder_restoresTheOrder() {
    enqueue(queue, 5, a);
    List<ScheduledItem<String>> served = serve(scheduler, 3, 0);
    for (int i : new int[] {1, 2, 0}) {
      assertThat(queue.requeue(served.get(i), a).isQueued()).isTrue();
    }
    assertThat(serveAll(scheduler, 0)).containsExactly("a0", "a1", "a2", "a3", "a4");
  }

  @Test
  void requeue_goesBeforeAThrottledItem_andTakesItsTokensAgain() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    Placement throttled = a.withThrottleKeys("x");
    enqueue(queue, 2, throttled);
    List<ScheduledItem<String>> served = serve(scheduler, 2, 0);
    assertThat(items(served)).containsExactly("a0");
    queue.requeue(served.get(0), throttled);
    assertThat(serveAll(scheduler, SECOND - 1)).isEmpty();
    assertThat(serveAll(scheduler, SECOND)).containsExactly("a0");
    assertThat(serveAll(scheduler, 2 * SECOND)).containsExactly("a1");
  }

  @Test
  void requeue_freesItsSlot() {
    queue.setMaxInFlightPerKey(1);
    enqueue(queue, 2, a);
    List<ScheduledItem<String>> served = serve(scheduler, 2, 0);
    assertThat(items(served)).containsExactly("a0");
    queue.requeue(served.get(0), a);
    assertThat(serveAll(scheduler, 0)).containsExactly("a0");
  }

  @Test
  void requeue_ofAQueuedItem_isRefused() {
    ScheduledItem<String> waiting = queue.enqueue("a0", a);
    assertThatIllegalStateException().isThrownBy(() -> queue.requeue(waiting, a));
    assertThat(serveAll(scheduler, 0)).containsExactly("a0");
  }

  @Test
  void requeueAndRemoveAnywhere_keepTheOrder() {
    Random random = new Random(7);
    TreeMap<Integer, ScheduledItem<String>> waiting = new TreeMap<>();
    for (int i = 0; i < 4_000; i++) {
      waiting.put(i, queue.enqueue(String.valueOf(i), a));
    }
    List<ScheduledItem<String>> served = new ArrayList<>();
    for (int round = 0; round < 100; round++) {
      for (ScheduledItem<String> item : serve(scheduler, random.nextInt(800), 0)) {
        assertThat(number(item)).isEqualTo(waiting.pollFirstEntry().getKey());
        served.add(item);
      }
      Collections.shuffle(served, random);
      List<ScheduledItem<String>> back = served.subList(0, random.nextInt(served.size() + 1));
      back.forEach(item -> waiting.put(number(item), queue.requeue(item, a)));
      back.clear();
      for (int i = 0; i < 20; i++) {
        ScheduledItem<String> removed = waiting.remove(random.nextInt(4_000));
        assertThat(removed == null || removed.remove()).isTrue();
      }
    }
    assertThat(serve(scheduler, Integer.MAX_VALUE, 0))
        .extracting(FairQueueChangesTest::number)
        .isNotEmpty()
        .containsExactlyElementsOf(waiting.keySet());
  }

  private static int number(ScheduledItem<String> item) {
    return Integer.parseInt(item.item());
  }

  /** As when two consumers, whose messages alternate, disconnect one after the other. */
  @Test
  void interleavedItemsThatComeBack_areNotPassedOneByOne() {
    int count = 120_000;
    enqueue(queue, 2 * count, a);
    List<ScheduledItem<String>> served = serve(scheduler, count, 0);
    long cpuMillis =
        cpuMillis(
            () -> {
              for (int first = 0; first < 2; first++) {
                for (int i = count - 1 - first; i >= 0; i -= 2) {
                  queue.requeue(served.get(i), a);
                }
              }
            });
    assertThat(cpuMillis).isLessThan(1_000);
    assertThat(items(serve(scheduler, count, 0))).isEqualTo(items(served));
  }

  private static long cpuMillis(Runnable work) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadCpuTime();
    work.run();
    return TimeUnit.NANOSECONDS.toMillis(threads.getCurrentThreadCpuTime() - before);
  }

  @Test
  void limitPerKey_isChangedWithoutAVisitToEveryKey() {
    for (int i = 0; i < 100_000; i++) {
      queue.enqueue("item", Placement.of("key" + i));
    }
    long cpuMillis =
        cpuMillis(
            () -> {
              for (int i = 0; i < 1_000; i++) {
                queue.setMaxInFlightPerKey(1 + i % 2);
              }
            });
    assertThat(cpuMillis).isLessThan(1_000);
  }

  @Test
  void limitPerKey_holdsAtOnce_alsoForKeysThatWaitAtALimit() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 2));
    Placement throttled = Placement.of("b").withThrottleKeys("x");
    queue.setMaxInFlightPerKey(3);
    enqueue(queue, 5, a);
    enqueue(queue, 5, throttled);
    List<ScheduledItem<String>> served = new ArrayList<>(serve(scheduler, 99, 0));
    assertThat(items(served)).hasSize(5);
    queue.setMaxInFlightPerKey(2);
    assertThat(serveAll(scheduler, 5 * SECOND)).isEmpty();
    served.get(0).complete();
    assertThat(serveAll(scheduler, 5 * SECOND)).isEmpty();
    queue.setMaxInFlight("b", 3);
    assertThat(serveAll(scheduler, 5 * SECOND)).hasSize(1);
    queue.setMaxInFlightPerKey(Integer.MAX_VALUE);
    assertThat(serveAll(scheduler, 5 * SECOND)).allMatch(item -> item.startsWith("a"));
    queue.setMaxInFlight("b", Integer.MAX_VALUE);
    assertThat(serveAll(scheduler, 99 * SECOND)).hasSize(2);
  }

  @Test
  void strictOrder_isForOneQueue_andForLaterItems() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    FairQueue<String> strict = scheduler.queue("strict");
    strict.setStrictOrder(true);
    for (FairQueue<String> each : List.of(queue, strict)) {
      each.enqueue(each.name() + " throttled", a.withThrottleKeys("x"));
      each.enqueue(each.name() + " behind", a);
    }
    scheduler.advanceTo(0);
    scheduler.setLevel("x", 0);
    assertThat(serveAll(scheduler, 0)).containsExactly("q behind");
    assertThat(serveAll(scheduler, 2 * SECOND)).hasSize(1);
    assertThat(serveAll(scheduler, 4 * SECOND)).hasSize(2).contains("strict behind");
  }

  @Test
  void removeQueue_requiresAnEmptyQueue_andDropsItsSettings() {
    ScheduledItem<String> waiting = queue.enqueue("a0", a);
    assertThatIllegalStateException()
        .isThrownBy(() -> scheduler.removeQueue("q"))
        .withMessage("queue must be empty: queue=q");
    queue.setCredit(0);
    queue.setMinimumRate(0, Limit.ofRate(1, 1));
    assertThat(waiting.remove()).isTrue();
    assertThat(scheduler.removeQueue("q")).isTrue();
    assertThat(scheduler.removeQueue("q")).isFalse();
    assertThat(((DrrScheduler<?>) scheduler).isAtRest()).isTrue();
    assertThat(scheduler.queue("q").enqueue("new", a).isQueued()).isTrue();
    assertThat(serveAll(scheduler, 0)).containsExactly("new");
  }

  @Test
  void setLevel_isRoundedDown_clamped_andWakesWaiters() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(3, 10));
    enqueue(queue, 20, a.withThrottleKeys("x"));
    scheduler.advanceTo(0);
    scheduler.setLevel("x", 2.5);
    assertThat(serveAll(scheduler, 0)).hasSize(2);
    assertThat(scheduler.next(0)).isInstanceOf(Next.Wait.class);
    scheduler.advanceTo(0);
    scheduler.setLevel("x", 1e300);
    assertThat(serveAll(scheduler, 0)).hasSizeBetween(9, 10);
    scheduler.advanceTo(SECOND);
    scheduler.setLevel("x", 0);
    assertThat(serveAll(scheduler, SECOND)).isEmpty();
    assertThat(serveAll(scheduler, 2 * SECOND)).hasSize(3);
  }

  @Test
  void setLevel_neverAddsTokens() {
    for (double tokens : new double[] {0, 0.1, 1, 2.9999999999, 1e-12}) {
      scheduler.advanceTo(0);
      scheduler.setLimit("x", Limit.ofRate(7, 3));
      scheduler.setLevel("x", tokens);
      assertThat(scheduler.limitStats("x").orElseThrow().level()).isLessThanOrEqualTo(tokens);
    }
  }

  @Test
  void setLevel_ofAnUnknownLimitOrANegativeLevel_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> scheduler.setLevel("x", 1))
        .withMessage("unknown limit: name=x");
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    for (double bad : new double[] {-1, Double.NaN}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> scheduler.setLevel("x", bad))
          .withMessage("tokens must not be negative, but was " + bad);
    }
  }
}
