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
    return scheduler.throttle(key, nowNanos).orElseThrow().level();
  }

  @Test
  void giveBackTokens_returnsTheTokensOfEveryKey_once() {
    scheduler.setRate("x", 0, 5, 0);
    scheduler.setRate("y", 0, 5, 0);
    Placement both = Placement.of("a").withThrottle("x", 2).withThrottle("y", 3);
    ScheduledItem<String> item = deliver(both, 0);
    assertThat(level("x", 0)).isEqualTo(3);
    assertThat(level("y", 0)).isEqualTo(2);
    scheduler.giveBackTokens(item, 0);
    scheduler.giveBackTokens(item, 0);
    assertThat(level("x", 0)).isEqualTo(5);
    assertThat(level("y", 0)).isEqualTo(5);
  }

  @Test
  void giveBackTokens_doesNotReturnRefilledTokens() {
    scheduler.setRate("x", 1, 2, 0);
    Placement placement = Placement.of("a").withThrottles("x");
    ScheduledItem<String> first = deliver(placement, 0);
    // The bucket is full again by then, so the later charges are not part of the first debt.
    deliver(placement, 2 * SECOND);
    deliver(placement, 2 * SECOND);
    scheduler.giveBackTokens(first, 2 * SECOND);
    assertThat(level("x", 2 * SECOND)).isZero();
  }

  @Test
  void giveBackTokens_ofTwoItems_doesNotCountTheSameDebtTwice() {
    scheduler.setRate("x", 1, 3, 0);
    Placement two = Placement.of("a").withThrottle("x", 2);
    ScheduledItem<String> first = deliver(two, 0);
    ScheduledItem<String> second = deliver(two, SECOND);
    // A refill makes up for one token of each before the third item takes its own.
    deliver(Placement.of("a").withThrottles("x"), 2 * SECOND);
    scheduler.giveBackTokens(first, 2 * SECOND);
    scheduler.giveBackTokens(second, 2 * SECOND);
    assertThat(level("x", 2 * SECOND)).isEqualTo(2);
  }

  @Test
  void giveBackTokens_letsAWaiterGo() {
    scheduler.setRate("x", 0.001, 1, 0);
    letsAWaiterGo();
  }

  @Test
  void giveBackTokens_atRateZero_letsAWaiterGo() {
    scheduler.setRate("x", 0, 1, 0);
    letsAWaiterGo();
  }

  private void letsAWaiterGo() {
    Placement placement = Placement.of("a").withThrottles("x");
    ScheduledItem<String> item = deliver(placement, 0);
    queue.enqueue("waiter", placement);
    assertThat(serveAll(scheduler, 0)).isEmpty();
    assertThat(queue.mayGo()).isFalse();
    scheduler.giveBackTokens(item, 0);
    assertThat(queue.mayGo()).isTrue();
    assertThat(serveAll(scheduler, 0)).containsExactly("waiter");
  }

  /** A gate that is to be looked at for one queue says nothing of another. */
  @Test
  void mayGo_isFalseForAQueueThatWaitsElsewhere() {
    FairQueue<String> other = scheduler.queue("other");
    scheduler.setRate("x", 1, 2, 0);
    scheduler.setRate("y", 1, 1, 0);
    deliver(Placement.of("a").withThrottle("x", 2), 0);
    deliver(Placement.of("a").withThrottles("y"), 0);
    queue.enqueue("first", Placement.of("a").withThrottles("x"));
    queue.enqueue("second", Placement.of("b").withThrottles("x"));
    other.enqueue("elsewhere", Placement.of("c").withThrottles("y"));
    assertThat(serveAll(scheduler, 0)).isEmpty();
    scheduler.setLevel("x", 3, 0);
    assertThat(queue.mayGo()).isTrue();
    assertThat(other.mayGo()).isFalse();
    ((Next.Offer<String>) scheduler.next(0)).confirm();
    assertThat(queue.mayGo()).isTrue();
    assertThat(other.mayGo()).isFalse();
  }

  /** Would take minutes if each return had another look at every fairness key that never goes. */
  @Test
  @Timeout(30)
  void giveBackTokens_doesNotRetryItemsThatNeverGo() {
    scheduler.setRate("x", 1, 1, 0);
    for (int i = 0; i < 30_000; i++) {
      queue.enqueue("never", Placement.of("key" + i).withThrottle("x", 2));
    }
    assertThat(serveAll(scheduler, 0)).isEmpty();
    for (int i = 0; i < 5_000; i++) {
      scheduler.giveBackTokens(deliver(Placement.of("a").withThrottles("x"), 0), 0);
    }
    assertThat(serveAll(scheduler, 0)).isEmpty();
    scheduler.setRate("x", 0, 2, 0);
    scheduler.setLevel("x", 3, 0);
    assertThat(serveAll(scheduler, 0)).containsExactly("never");
  }

  @Test
  void giveBackTokens_afterTheRateWasRemovedOrTheLevelSet_returnsNothing() {
    Placement placement = Placement.of("a").withThrottles("x");
    scheduler.setRate("x", 0, 5, 0);
    ScheduledItem<String> removed = deliver(placement, 0);
    scheduler.removeRate("x");
    ScheduledItem<String> unlimited = deliver(placement, 0);
    scheduler.setRate("x", 0, 5, 0);
    ScheduledItem<String> before = deliver(placement, 0);
    deliver(placement, 0);
    scheduler.giveBackTokens(removed, 0);
    scheduler.giveBackTokens(unlimited, 0);
    assertThat(level("x", 0)).isEqualTo(3);
    scheduler.setLevel("x", 1.5, 0);
    scheduler.giveBackTokens(before, 0);
    assertThat(level("x", 0)).isEqualTo(1);
  }

  @Test
  void taken_neverDecreases_andDoesNotCountReturnedTokens() {
    scheduler.setRate("x", 0, 5, 0);
    Placement placement = Placement.of("a").withThrottles("x");
    ScheduledItem<String> first = deliver(placement, 0);
    ScheduledItem<String> second = deliver(placement, 0);
    scheduler.giveBackTokens(first, 0);
    scheduler.giveBackTokens(second, 0);
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
    scheduler.setRate("y", 0, 0, 0);
    queue.enqueue("kept", Placement.of("a").withThrottles("x", "y"));
    Placement placement = Placement.of("a").withThrottles("x");
    ScheduledItem<String> unlimited = deliver(placement, 0);
    scheduler.setRate("x", 0, 5, 0);
    scheduler.giveBackTokens(unlimited, 0);
    deliver(placement, 0);
    assertThat(taken()).isEqualTo(1);
  }

  private long taken() {
    return scheduler.throttle("x", 0).orElseThrow().taken();
  }
}
