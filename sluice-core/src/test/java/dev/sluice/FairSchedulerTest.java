package dev.sluice;

import static dev.sluice.Schedules.enqueue;
import static dev.sluice.Schedules.items;
import static dev.sluice.Schedules.perKey;
import static dev.sluice.Schedules.scheduler;
import static dev.sluice.Schedules.serve;
import static dev.sluice.Schedules.serveAll;
import static dev.sluice.Schedules.within;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.sluice.internal.scheduler.DrrScheduler;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The scheduler, case by case. */
class FairSchedulerTest {
  private static final long SECOND = 1_000_000_000;

  private final FairScheduler<String> scheduler = FairScheduler.create();
  private final FairQueue<String> queue = scheduler.queue("q");

  @Test
  void aQuietTenant_isServedWithinTwoItems_inTheMiddleOfABusyRound() {
    for (int i = 0; i < 100; i++) {
      enqueue(queue, 1_000, Placement.of("busy" + i).withWeight(100));
    }
    assertThat(serve(scheduler, 4_321, 0)).hasSize(4_321);
    queue.enqueue("hello", Placement.of("quiet"));
    assertThat(items(serve(scheduler, 2, 0))).contains("hello");
  }

  @Test
  void aQuietTenant_isServedWithinTwoItems_whileAllKeysWait() {
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    for (int i = 0; i < 100; i++) {
      enqueue(queue, 100, Placement.of("busy" + i).withWeight(5).withThrottleKeys("x"));
    }
    long now = 0;
    for (int i = 0; i < 777; i++, now += SECOND) {
      assertThat(serve(scheduler, 9, now)).hasSize(1);
    }
    queue.enqueue("hello", Placement.of("quiet").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, now)).hasSize(1);
    assertThat(serveAll(scheduler, now + SECOND)).hasSize(1);
    assertThat(queue.stats("quiet")).isEmpty();
  }

  @Test
  void anEndlessStreamOfNewKeys_starvesNoOldOne() {
    enqueue(queue, 1_000, Placement.of("old1"));
    enqueue(queue, 1_000, Placement.of("old2"));
    assertThat(serve(scheduler, 10, 0)).hasSize(10);
    int old = 0;
    for (int i = 0; i < 1_000; i++) {
      enqueue(queue, 1, Placement.of("new" + 2 * i));
      enqueue(queue, 1, Placement.of("new" + (2 * i + 1)));
      old += (int) items(serve(scheduler, 2, 0)).stream().filter(s -> s.startsWith("old")).count();
    }
    assertThat(old).isBetween(900, 1_100);
  }

  @Test
  void emptyKeyEnqueuedAgain_keepsItsTurn() {
    for (int i = 0; i < 10; i++) {
      enqueue(queue, 1_000, Placement.of("busy" + i));
    }
    queue.enqueue("sly", Placement.of("sly"));
    int sly = 0;
    for (int i = 0; i < 1_100; i++) {
      ScheduledItem<String> item = serve(scheduler, 1, 0).get(0);
      if (item.fairnessKey().equals("sly")) {
        sly++;
        queue.enqueue("sly", Placement.of("sly"));
      }
    }
    assertThat(sly).isBetween(95, 105);
  }

  @ParameterizedTest
  @ValueSource(strings = {"limit", "cancel", "throttle"})
  void emptyKeyEnqueuedAgain_byAnyTrick_getsItsShareOnly(String trick) {
    if (trick.equals("limit")) {
      queue.setMaxInFlight("sly", 1);
    }
    scheduler.advanceTo(0);
    scheduler.setLimit(
        "x", Limit.ofRate(trick.equals("throttle") ? 1 : 1e9, trick.equals("throttle") ? 1 : 1e6));
    for (int i = 0; i < 10; i++) {
      enqueue(queue, 1_000, Placement.of("busy" + i).withThrottleKeys("x"));
    }
    Placement sly = Placement.of("sly").withThrottleKeys("x");
    queue.enqueue("sly", sly);
    int served = 0;
    for (int i = 0; i < 1_100; i++) {
      ScheduledItem<String> extra = queue.enqueue("extra", sly);
      assertThat(trick.equals("cancel") || extra.remove()).isTrue();
      ScheduledItem<String> item = serve(scheduler, 1, i * SECOND).get(0);
      assertThat(extra.isQueued() == extra.remove()).isTrue();
      item.complete();
      if (item.fairnessKey().equals("sly")) {
        served++;
        queue.enqueue("sly", sly);
      }
    }
    assertThat(served).isBetween(80, 120);
  }

  @Test
  void aThrottledItem_delaysNoItemOfAnotherSet() {
    scheduler.setLimit("slow", Limit.ofRate(1, 1));
    Placement slow = Placement.of("a").withThrottleKeys("slow");
    enqueue(queue, 3, slow);
    queue.enqueue("free", Placement.of("a"));
    assertThat(serveAll(scheduler, 0)).containsExactly("a0", "free");
  }

  @Test
  void inStrictOrder_aThrottledItemDelaysLaterItemsOfItsKey() {
    FairScheduler<String> strict = scheduler(true);
    strict.advanceTo(0);
    strict.setLimit("slow", Limit.ofRate(1, 1));
    enqueue(strict.queue("q"), 2, Placement.of("a").withThrottleKeys("slow"));
    strict.queue("q").enqueue("free", Placement.of("a"));
    assertThat(items(serve(strict, 9, 0))).containsExactly("a0");
    assertThat(items(serve(strict, 9, SECOND))).containsExactly("a1", "free");
  }

  @Test
  void amongReadySubQueues_theOldestHeadGoesFirst() {
    scheduler.setLimit("x", Limit.ofRate(100, 10));
    scheduler.setLimit("y", Limit.ofRate(100, 10));
    queue.enqueue("1", Placement.of("a").withThrottleKeys("x"));
    queue.enqueue("2", Placement.of("a").withThrottleKeys("y"));
    queue.enqueue("3", Placement.of("a"));
    queue.enqueue("4", Placement.of("a").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, 0)).containsExactly("1", "2", "3", "4");
  }

  @Test
  void smallItems_doNotPassALargeOneAtABucket() {
    scheduler.setLimit("tokens", Limit.ofRate(10, 10));
    queue.enqueue("first", Placement.of("a").withThrottleKey("tokens", 10));
    queue.enqueue("large", Placement.of("a").withThrottleKey("tokens", 10));
    assertThat(serveAll(scheduler, 0)).containsExactly("first");
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(SECOND));
    enqueue(queue, 5, Placement.of("b").withThrottleKeys("tokens"));
    assertThat(serveAll(scheduler, SECOND / 2)).isEmpty();
    assertThat(serveAll(scheduler, SECOND)).containsExactly("large");
    assertThat(serveAll(scheduler, 2 * SECOND)).hasSize(5);
  }

  @Test
  void anImpossibleItem_delaysOnlyItsOwnSetOfThrottleKeys() {
    scheduler.advanceTo(0);
    scheduler.setLimit("tokens", Limit.ofRate(10, 10));
    queue.enqueue("never", Placement.of("a").withThrottleKey("tokens", 11));
    queue.enqueue("behind", Placement.of("a").withThrottleKeys("tokens"));
    queue.enqueue("other", Placement.of("b").withThrottleKeys("tokens"));
    assertThat(serveAll(scheduler, 0)).containsExactly("other");
    assertThat(scheduler.next(0)).isEqualTo(new Next.Idle<>());
    assertThat(queue.stats("a").orElseThrow().throttled())
        .containsExactly(new FairnessKeyStats.Throttled("tokens", 2, Optional.empty()));
    assertThat(queue.isThrottled("a")).isTrue();
    assertThat(queue.isThrottled("b")).isFalse();
    queue.enqueue("free", Placement.of("a").withPriority(1));
    assertThat(queue.isThrottled("a")).isFalse();
    assertThat(serveAll(scheduler, 0)).containsExactly("free");
    assertThat(queue.isThrottled("a")).isTrue();
    scheduler.advanceTo(0);
    scheduler.setLimit("tokens", Limit.ofRate(10, 11));
    assertThat(serveAll(scheduler, SECOND)).containsExactly("never");
  }

  @Test
  void costOfLongMaxValue_waitsForever() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    enqueue(queue, 2, Placement.of("a").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, 0)).hasSize(1);
    queue.enqueue("huge", Placement.of("b").withThrottleKey("x", Long.MAX_VALUE));
    assertThat(serveAll(scheduler, SECOND)).containsExactly("a1");
    assertThat(scheduler.next(SECOND)).isEqualTo(new Next.Idle<>());
    assertThat(scheduler.waiters("x", 1))
        .containsExactly(new LimitStats.Waiter("q", "b", 1, Long.MAX_VALUE, Long.MAX_VALUE));
  }

  @Test
  void rateChanges_takeEffectAtOnce() {
    scheduler.advanceTo(0);
    scheduler.setLimit("slow", Limit.ofRate(1, 1));
    enqueue(queue, 10, Placement.of("a").withThrottleKeys("slow"));
    assertThat(serveAll(scheduler, 0)).hasSize(1);
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(SECOND));
    scheduler.advanceTo(0);
    scheduler.setLimit("slow", Limit.ofRate(10, 1));
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(SECOND / 10));
    scheduler.advanceTo(0);
    scheduler.setLimit("slow", Limit.ofRate(0.5, 1));
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(2 * SECOND));
    scheduler.advanceTo(0);
    scheduler.setLimit("slow", Limit.ofRate(0, 1));
    assertThat(scheduler.next(0)).isEqualTo(new Next.Idle<>());
    assertThat(scheduler.removeLimit("slow")).isTrue();
    assertThat(serveAll(scheduler, 0)).hasSize(9);
    assertThat(scheduler.removeLimit("slow")).isFalse();
  }

  @Test
  void aKeyWithoutALimit_canGetOneWhileItemsWait() {
    enqueue(queue, 5, Placement.of("a").withThrottleKeys("later"));
    assertThat(serve(scheduler, 1, 0)).hasSize(1);
    scheduler.advanceTo(0);
    scheduler.setLimit("later", Limit.ofRate(1, 2));
    assertThat(serveAll(scheduler, 0)).hasSize(2);
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(SECOND));
  }

  @Test
  void aQueueWithoutCredit_delaysNoQueueAtASharedBucket() {
    scheduler.advanceTo(0);
    scheduler.setLimit("shared", Limit.ofRate(1, 1));
    FairQueue<String> other = scheduler.queue("other");
    Placement shared = Placement.of("a").withThrottleKeys("shared");
    enqueue(queue, 3, shared);
    enqueue(other, 3, shared);
    assertThat(serve(scheduler, 9, 0)).hasSize(1);
    queue.setCredit(0);
    assertThat(scheduler.next(SECOND))
        .isInstanceOfSatisfying(
            Next.Offer.class,
            offer -> {
              assertThat(offer.queue()).isEqualTo("other");
              offer.decline();
            });
    other.setCredit(0);
    assertThat(scheduler.next(5 * SECOND)).isEqualTo(new Next.Idle<>());
    queue.setCredit(1);
    assertThat(serve(scheduler, 9, 5 * SECOND)).hasSize(1);
    assertThat(queue.credit()).isZero();
    assertThat(scheduler.next(9 * SECOND)).isEqualTo(new Next.Idle<>());
  }

  @Test
  void queues_takeTurnsAtASharedBucket() {
    scheduler.advanceTo(0);
    scheduler.setLimit("shared", Limit.ofRate(1, 1));
    FairQueue<String> other = scheduler.queue("other");
    enqueue(queue, 100, Placement.of("q").withThrottleKeys("shared"));
    for (int i = 0; i < 10; i++) {
      enqueue(other, 100, Placement.of("o" + i).withThrottleKeys("shared"));
    }
    List<ScheduledItem<String>> served = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      served.addAll(serve(scheduler, 9, i * SECOND));
    }
    assertThat(perKey(served).get("q")).isBetween(49, 51);
  }

  @Test
  void higherPriorities_areServedFirst() {
    enqueue(queue, 2, Placement.of("low"));
    enqueue(queue, 2, Placement.of("high").withPriority(31));
    enqueue(queue, 2, Placement.of("mid").withPriority(3));
    assertThat(serveAll(scheduler, 0))
        .containsExactly("high0", "high1", "mid0", "mid1", "low0", "low1");
  }

  @Test
  void aMinimumShare_bypassesPriorities() {
    queue.setMinimumRate(0, Limit.ofRate(1, 2));
    enqueue(queue, 100, Placement.of("low"));
    enqueue(queue, 1_000, Placement.of("high").withPriority(1));
    assertThat(perKey(serve(scheduler, 50, 0))).containsEntry("low", 2).containsEntry("high", 48);
    assertThat(perKey(serve(scheduler, 50, 3 * SECOND))).containsEntry("low", 2);
    queue.removeMinimumRate(0);
    assertThat(perKey(serve(scheduler, 50, 9 * SECOND))).doesNotContainKey("low");
  }

  @Test
  void aMinimumShare_countsAtABucketToo() {
    queue.setMinimumRate(0, Limit.ofRate(5, 1));
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(20, 1));
    enqueue(queue, 1_000, Placement.of("low").withThrottleKeys("x"));
    enqueue(queue, 5_000, Placement.of("high").withPriority(1).withThrottleKeys("x"));
    enqueue(queue, 5_000, Placement.of("free").withPriority(1));
    List<ScheduledItem<String>> served = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      served.addAll(serve(scheduler, 2, i * SECOND / 100));
    }
    assertThat(perKey(served).get("low")).isBetween(95, 105);
  }

  @Test
  void aPromiseToALowPriority_delaysNoHigherPriority() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    queue.enqueue("low1", Placement.of("low").withThrottleKeys("x"));
    queue.enqueue("low2", Placement.of("low").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, 0)).containsExactly("low1");
    // At one second the token is promised to low2, but then more urgent work comes.
    enqueue(queue, 3, Placement.of("high").withPriority(1));
    queue.enqueue("urgent", Placement.of("urgent").withPriority(1).withThrottleKeys("x"));
    assertThat(serveAll(scheduler, SECOND)).contains("urgent").doesNotContain("low2");
    assertThat(serveAll(scheduler, 2 * SECOND)).containsExactly("low2");
  }

  @Test
  void concurrencyLimits_holdPerKey() {
    queue.setMaxInFlightPerKey(2);
    queue.setMaxInFlight("one", 1);
    enqueue(queue, 5, Placement.of("a"));
    enqueue(queue, 5, Placement.of("one").withPriority(3));
    List<ScheduledItem<String>> running = serve(scheduler, 99, 0);
    assertThat(perKey(running)).containsEntry("a", 2).containsEntry("one", 1);
    assertThat(queue.stats("a").orElseThrow().inFlight()).isEqualTo(2);
    assertThat(scheduler.next(0)).isEqualTo(new Next.Idle<>());
    assertThat(running.get(0).complete()).isTrue();
    assertThat(running.get(0).complete()).isFalse();
    assertThat(serve(scheduler, 99, 0)).hasSize(1);
    queue.setMaxInFlight("one", Integer.MAX_VALUE);
    assertThat(perKey(serve(scheduler, 99, 0))).containsOnlyKeys("one");
  }

  @Test
  void aKeyWithoutASlot_delaysNoKeyAtABucket() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    queue.setMaxInFlight("a", 1);
    enqueue(queue, 2, Placement.of("a").withThrottleKeys("x"));
    ScheduledItem<String> running = serve(scheduler, 9, 0).get(0);
    enqueue(queue, 2, Placement.of("b").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, SECOND)).containsExactly("b0");
    assertThat(running.complete()).isTrue();
    assertThat(serveAll(scheduler, 2 * SECOND)).hasSize(1);
  }

  @Test
  void decline_changesNothing() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    queue.setMaxInFlightPerKey(1);
    queue.setCredit(5);
    enqueue(queue, 2, Placement.of("a").withThrottleKeys("x"));
    enqueue(queue, 2, Placement.of("b").withThrottleKeys("x"));
    for (int i = 0; i < 10; i++) {
      Next<String> next = scheduler.next(0);
      assertThat(next)
          .isInstanceOfSatisfying(
              Next.Offer.class,
              offer -> {
                assertThat(offer.item()).isEqualTo("a0");
                offer.decline();
              });
    }
    assertThat(queue.credit()).isEqualTo(5);
    scheduler.advanceTo(0);
    assertThat(scheduler.limitStats("x").orElseThrow().level()).isEqualTo(1);
    assertThat(queue.stats("a").orElseThrow().inFlight()).isZero();
    assertThat(queue.stats("a").orElseThrow().pending()).isEqualTo(2);
  }

  @Test
  void whileAnOfferIsOpen_nothingElseIsAllowed() {
    ScheduledItem<String> item = queue.enqueue("a", Placement.of("a"));
    Next.Offer<String> offer = (Next.Offer<String>) scheduler.next(0);
    assertThatIllegalStateException().isThrownBy(() -> scheduler.next(0));
    assertThatIllegalStateException().isThrownBy(() -> queue.enqueue("b", Placement.of("a")));
    assertThatIllegalStateException().isThrownBy(() -> scheduler.setLimit("x", Limit.ofRate(1, 1)));
    assertThatIllegalStateException().isThrownBy(() -> scheduler.removeLimit("x"));
    assertThatIllegalStateException().isThrownBy(() -> queue.setCredit(1));
    assertThatIllegalStateException().isThrownBy(() -> queue.setWeight("a", 1));
    assertThatIllegalStateException().isThrownBy(() -> queue.setMaxInFlightPerKey(1));
    assertThatIllegalStateException().isThrownBy(item::remove);
    assertThatIllegalStateException().isThrownBy(item::complete);
    assertThat(offer.confirm()).isSameAs(item);
    assertThatIllegalStateException().isThrownBy(offer::confirm);
    assertThatIllegalStateException().isThrownBy(offer::decline);
    assertThat(item.remove()).isFalse();
    assertThat(item.complete()).isFalse();
  }

  @Test
  void remove_takesAnyItemOut() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    List<ScheduledItem<String>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(queue.enqueue("a" + i, Placement.of("a").withThrottleKeys("x")));
    }
    assertThat(all.get(2).remove()).isTrue();
    assertThat(all.get(2).remove()).isFalse();
    assertThat(serveAll(scheduler, 0)).containsExactly("a0");
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(SECOND));
    assertThat(all.get(1).remove()).isTrue();
    assertThat(serveAll(scheduler, SECOND)).containsExactly("a3");
    assertThat(queue.stats()).isEmpty();
    assertThat(scheduler.next(SECOND)).isEqualTo(new Next.Idle<>());
  }

  @Test
  void weights_followTheLatestEnqueueOrSet() {
    enqueue(queue, 1_000, Placement.of("a").withWeight(2));
    enqueue(queue, 1_000, Placement.of("b"));
    assertThat(perKey(serve(scheduler, 300, 0)).get("a")).isCloseTo(200, within(3));
    queue.setWeight("b", 4);
    queue.enqueue("retry", Placement.of("a"));
    assertThat(perKey(serve(scheduler, 300, 0)).get("a")).isCloseTo(100, within(6));
    assertThat(queue.stats("b").orElseThrow().weight()).isEqualTo(4);
  }

  @Test
  void costs_areSharedByWeight() {
    FairScheduler<String> costly = FairScheduler.<String>builder().maxCost(10).build();
    enqueue(costly.queue("q"), 1_000, Placement.of("large").withCost(10));
    enqueue(costly.queue("q"), 1_000, Placement.of("small").withCost(2));
    Map<String, Integer> counts = perKey(serve(costly, 600, 0));
    assertThat(counts.get("small")).isCloseTo(500, within(6));
  }

  @Test
  void readingsThatGoBack_countAsTheLatest() {
    scheduler.advanceTo(0);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    enqueue(queue, 3, Placement.of("a").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, 10 * SECOND)).hasSize(1);
    assertThat(scheduler.next(0)).isEqualTo(new Next.Wait<>(11 * SECOND));
  }

  @Test
  void readingsThatWrap_areOrdinary() {
    long start = Long.MAX_VALUE - SECOND / 2;
    scheduler.advanceTo(start);
    scheduler.setLimit("x", Limit.ofRate(1, 1));
    enqueue(queue, 2, Placement.of("a").withThrottleKeys("x"));
    assertThat(serveAll(scheduler, start)).hasSize(1);
    assertThat(scheduler.next(start)).isEqualTo(new Next.Wait<>(start + SECOND));
    assertThat(serveAll(scheduler, start + SECOND)).hasSize(1);
  }

  @Test
  void removedItems_leaveNoState() {
    for (int i = 0; i < 1_000; i++) {
      queue.enqueue("x", Placement.of("key" + i).withThrottleKeys("t" + i, "u" + i % 10));
    }
    assertThat(serveAll(scheduler, 0)).hasSize(1_000);
    assertThat(scheduler.next(0)).isEqualTo(new Next.Idle<>());
    assertThat(queue.stats()).isEmpty();
    assertThat(((DrrScheduler<?>) scheduler).isAtRest()).isTrue();
  }

  @Test
  void badInput_isNamedAndChangesNothing() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> queue.enqueue("x", Placement.of("a").withCost(2)))
        .withMessage("cost must be at most 1, but was 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Placement.of(""))
        .withMessage("fairnessKey must not be empty");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Placement.of("a").withWeight(0))
        .withMessage("weight must be from 1 to 1000000, but was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Placement.of("a").withPriority(32))
        .withMessage("priority must be from 0 to 31, but was 32");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Placement.of("a").withThrottleKey("x", 0))
        .withMessage("tokens of x must be positive, but was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> scheduler.setLimit("x", Limit.ofRate(Double.NaN, 1)))
        .withMessageContaining("perSecond must be a number");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> scheduler.setLimit("x", Limit.ofRate(-1, 1)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> scheduler.setLimit("x", Limit.ofRate(1e-30, 1)));
    assertThatIllegalArgumentException().isThrownBy(() -> scheduler.queue(""));
    assertThatIllegalArgumentException().isThrownBy(() -> queue.setCredit(-1));
    assertThatIllegalArgumentException().isThrownBy(() -> queue.setMaxInFlightPerKey(0));
    assertThatIllegalArgumentException().isThrownBy(() -> FairScheduler.builder().maxCost(0));
    assertThatNullPointerException().isThrownBy(() -> Placement.of(nothing()));
    assertThat(scheduler.next(0)).isEqualTo(new Next.Idle<>());
    scheduler.advanceTo(0);
    assertThat(scheduler.limitStats()).isEmpty();
    assertThat(((DrrScheduler<?>) scheduler).isAtRest()).isTrue();
  }

  @SuppressWarnings("NullAway") // what a caller without a null checker may do
  private static String nothing() {
    return null;
  }
}
