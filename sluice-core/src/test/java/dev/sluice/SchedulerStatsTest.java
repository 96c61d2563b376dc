package dev.sluice;

import static dev.sluice.Schedules.enqueue;
import static dev.sluice.Schedules.serveAll;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Statistics of a scheduler about the waiters of its limits. */
class SchedulerStatsTest {
  private static final long SECOND = 1_000_000_000;

  private final FairScheduler<String> scheduler = FairScheduler.create();
  private final FairQueue<String> queue = scheduler.queue("q");

  @Test
  void limitStats_showTakenTokensWaitersAndNextGrant() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(2, 1));
    enqueue(queue, 3, Placement.of("a").withThrottleKeys("x"));
    enqueue(scheduler.queue("other"), 2, Placement.of("b").withThrottleKeys("x"));
    queue.enqueue("never", Placement.of("c").withThrottleKey("x", 2));
    assertThat(serveAll(scheduler, 0)).hasSize(1);
    scheduler.advanceTo(0);
    LimitStats stats = scheduler.limitStats("x").orElseThrow();
    assertThat(stats.taken()).isEqualTo(1);
    assertThat(stats.nextGrantIn()).contains(Duration.ofMillis(500));
    assertThat(stats.impossibleCost()).isEqualTo(OptionalLong.of(2));
    assertThat(scheduler.waiters("x", 10))
        .containsExactlyInAnyOrder(
            new LimitStats.Waiter("q", "a", 2, 2, 1),
            new LimitStats.Waiter("other", "b", 2, 2, 1),
            new LimitStats.Waiter("q", "c", 1, 2, 2));
    assertThat(scheduler.waiters("x", 1)).hasSize(1);
    assertThat(scheduler.waiters("x", 2)).hasSize(2);
    assertThat(scheduler.waiters("unknown", 9)).isEmpty();
    assertThat(serveAll(scheduler, 10 * SECOND)).hasSize(1);
    scheduler.advanceTo(10 * SECOND);
    assertThat(scheduler.limitStats("x").orElseThrow().taken()).isEqualTo(2);
    scheduler.removeLimit("x");
    assertThat(serveAll(scheduler, 10 * SECOND)).hasSize(4);
    assertThat(scheduler.waiters("x", 9)).isEmpty();
  }

  @Test
  void waiters_showTheTokensOfAllAndOfTheNext() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(4, 5));
    queue.enqueue("first", Placement.of("a").withThrottleKey("x", 5));
    enqueue(queue, 40, Placement.of("a").withThrottleKey("x", 4));
    queue.enqueue("last", Placement.of("a").withThrottleKey("x", 3));
    assertThat(serveAll(scheduler, 0)).containsExactly("first");
    assertThat(scheduler.waiters("x", 10))
        .containsExactly(new LimitStats.Waiter("q", "a", 41, 163, 4));
    scheduler.advanceTo(0);
    assertThat(scheduler.limitStats("x").orElseThrow().impossibleCost()).isEmpty();
    enqueue(queue, 20_000, Placement.of("b").withThrottleKey("x", 2));
    queue.enqueue("other", Placement.of("b").withThrottleKey("x", 5));
    assertThat(serveAll(scheduler, 0)).isEmpty();
    assertThat(scheduler.waiters("x", 10))
        .contains(new LimitStats.Waiter("q", "b", 20_001, 40_002, 2));
  }

  @Test
  void weightAt_countsEachKeyOfItsQueueOnce() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    enqueue(queue, 2, Placement.of("a").withWeight(2).withThrottleKeys("x"));
    enqueue(queue, 1, Placement.of("a").withWeight(2).withThrottleKeys("x", "y"));
    enqueue(queue, 2, Placement.of("a").withWeight(2).withThrottleKeys("x").withPriority(1));
    queue.enqueue("never", Placement.of("b").withWeight(3).withThrottleKey("x", 2));
    enqueue(scheduler.queue("other"), 1, Placement.of("c").withWeight(7).withThrottleKeys("x"));
    assertThat(serveAll(scheduler, 0)).hasSize(1);
    assertThat(queue.waitingWeight("x")).isEqualTo(5);
    assertThat(scheduler.queue("other").waitingWeight("x")).isEqualTo(7);
    assertThat(queue.waitingWeight("y")).isZero();
    assertThat(queue.waitingWeight("unknown")).isZero();
    scheduler.removeLimit("x");
    assertThat(serveAll(scheduler, 0)).hasSize(6);
    assertThat(queue.waitingWeight("x")).isZero();
  }
}
