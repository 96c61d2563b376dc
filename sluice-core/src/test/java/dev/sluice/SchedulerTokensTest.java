package dev.sluice;

import static dev.sluice.Schedules.serveAll;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Returns of tokens by items that were delivered and never used. */
class SchedulerTokensTest {
  private static final long SECOND = 1_000_000_000;

  private final FairScheduler<String> scheduler = FairScheduler.create();
  private final FairQueue<String> queue = scheduler.queue("q");

  private ScheduledItem<String> deliver(Placement placement, long nowNanos) {
    queue.enqueue("item", placement);
    Next<String> next = scheduler.next(nowNanos);
    assertThat(next).isInstanceOf(Next.Offer.class);
    return ((Next.Offer<String>) next).confirm();
  }

  private double level(String key, long nowNanos) {
    scheduler.advanceTo(nowNanos);
    return scheduler.limitStats(key).orElseThrow().level();
  }

  @Test
  void returnTokens_returnsTheTokensOfEveryKey_once() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 5));
    scheduler.setLimit("y", Limit.ofRate(0, 5));
    Placement both = Placement.of("a").withThrottleKey("x", 2).withThrottleKey("y", 3);
    ScheduledItem<String> item = deliver(both, 0);
    assertThat(level("x", 0)).isEqualTo(3);
    assertThat(level("y", 0)).isEqualTo(2);
    scheduler.advanceTo(0);
    scheduler.returnTokens(item);
    scheduler.advanceTo(0);
    scheduler.returnTokens(item);
    assertThat(level("x", 0)).isEqualTo(5);
    assertThat(level("y", 0)).isEqualTo(5);
  }

  @Test
  void returnTokens_doesNotReturnRefilledTokens() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 2));
    Placement placement = Placement.of("a").withThrottleKeys("x");
    ScheduledItem<String> first = deliver(placement, 0);
    // The bucket is full again by then, so the later charges are not part of the first debt.
    deliver(placement, 2 * SECOND);
    deliver(placement, 2 * SECOND);
    scheduler.advanceTo(2 * SECOND);
    scheduler.returnTokens(first);
    assertThat(level("x", 2 * SECOND)).isZero();
  }

  @Test
  void returnTokens_ofTwoItems_doesNotCountTheSameDebtTwice() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 3));
    Placement two = Placement.of("a").withThrottleKey("x", 2);
    ScheduledItem<String> first = deliver(two, 0);
    ScheduledItem<String> second = deliver(two, SECOND);
    // A refill makes up for one token of each before the third item takes its own.
    deliver(Placement.of("a").withThrottleKeys("x"), 2 * SECOND);
    scheduler.advanceTo(2 * SECOND);
    scheduler.returnTokens(first);
    scheduler.advanceTo(2 * SECOND);
    scheduler.returnTokens(second);
    assertThat(level("x", 2 * SECOND)).isEqualTo(2);
  }

  @Test
  void returnTokens_unblocksAWaiter() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0.001, 1));
    letsAWaiterGo();
  }

  @Test
  void returnTokens_atRateZero_unblocksAWaiter() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 1));
    letsAWaiterGo();
  }

  private void letsAWaiterGo() {
    Placement placement = Placement.of("a").withThrottleKeys("x");
    ScheduledItem<String> item = deliver(placement, 0);
    queue.enqueue("waiter", placement);
    assertThat(serveAll(scheduler, 0)).isEmpty();
    assertThat(queue.hasReady()).isFalse();
    scheduler.advanceTo(0);
    scheduler.returnTokens(item);
    assertThat(queue.hasReady()).isTrue();
    assertThat(serveAll(scheduler, 0)).containsExactly("waiter");
  }

  /** A gate that is to be looked at for one queue says nothing of another. */
  @Test
  void hasReady_isFalseForAQueueWaitingForAnotherLimit() {
    FairQueue<String> other = scheduler.queue("other");
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 2));
    scheduler.setLimit("y", Limit.ofRate(1, 1));
    deliver(Placement.of("a").withThrottleKey("x", 2), 0);
    deliver(Placement.of("a").withThrottleKeys("y"), 0);
    queue.enqueue("first", Placement.of("a").withThrottleKeys("x"));
    queue.enqueue("second", Placement.of("b").withThrottleKeys("x"));
    other.enqueue("elsewhere", Placement.of("c").withThrottleKeys("y"));
    assertThat(serveAll(scheduler, 0)).isEmpty();
    scheduler.advanceTo(0);
    scheduler.setLevel("x", 3);
    assertThat(queue.hasReady()).isTrue();
    assertThat(other.hasReady()).isFalse();
    ((Next.Offer<String>) scheduler.next(0)).confirm();
    assertThat(queue.hasReady()).isTrue();
    assertThat(other.hasReady()).isFalse();
  }

  /** Would take minutes if each return had another look at every fairness key that never goes. */
  @Test
  @Timeout(30)
  void returnTokens_doesNotRetryItemsThatNeverGo() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    for (int i = 0; i < 30_000; i++) {
      queue.enqueue("never", Placement.of("key" + i).withThrottleKey("x", 2));
    }
    assertThat(serveAll(scheduler, 0)).isEmpty();
    for (int i = 0; i < 5_000; i++) {
      scheduler.advanceTo(0);
      scheduler.returnTokens(deliver(Placement.of("a").withThrottleKeys("x"), 0));
    }
    assertThat(serveAll(scheduler, 0)).isEmpty();
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 2));
    scheduler.setLevel("x", 3);
    assertThat(serveAll(scheduler, 0)).containsExactly("never");
  }

  @Test
  void returnTokens_afterTheRateWasRemovedOrTheLevelSet_returnsNothing() {
    Placement placement = Placement.of("a").withThrottleKeys("x");
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 5));
    ScheduledItem<String> removed = deliver(placement, 0);
    scheduler.removeLimit("x");
    ScheduledItem<String> unlimited = deliver(placement, 0);
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 5));
    ScheduledItem<String> before = deliver(placement, 0);
    deliver(placement, 0);
    scheduler.advanceTo(0);
    scheduler.returnTokens(removed);
    scheduler.advanceTo(0);
    scheduler.returnTokens(unlimited);
    assertThat(level("x", 0)).isEqualTo(3);
    scheduler.advanceTo(0);
    scheduler.setLevel("x", 1.5);
    scheduler.returnTokens(before);
    assertThat(level("x", 0)).isEqualTo(1);
  }

  @Test
  void taken_neverDecreases_andDoesNotCountReturnedTokens() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 5));
    Placement placement = Placement.of("a").withThrottleKeys("x");
    ScheduledItem<String> first = deliver(placement, 0);
    ScheduledItem<String> second = deliver(placement, 0);
    scheduler.advanceTo(0);
    scheduler.returnTokens(first);
    scheduler.advanceTo(0);
    scheduler.returnTokens(second);
    assertThat(taken()).isEqualTo(2);
    deliver(placement, 0);
    deliver(placement, 0);
    assertThat(taken()).isEqualTo(2);
    deliver(placement, 0);
    assertThat(taken()).isEqualTo(3);
  }

  /** An item that waits elsewhere keeps the key while it has no rate. */
  @Test
  void taken_isNotLoweredByItemsThatTookNothing() {
    scheduler.advanceTo(0);
    scheduler.setLimit("y", Limit.ofRate(0, 0));
    queue.enqueue("kept", Placement.of("a").withThrottleKeys("x", "y"));
    Placement placement = Placement.of("a").withThrottleKeys("x");
    ScheduledItem<String> unlimited = deliver(placement, 0);
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(0, 5));
    scheduler.returnTokens(unlimited);
    deliver(placement, 0);
    assertThat(taken()).isEqualTo(1);
  }

  private long taken() {
    scheduler.advanceTo(0);
    return scheduler.limitStats("x").orElseThrow().taken();
  }
}
