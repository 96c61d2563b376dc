package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.SchedulerModel.Item;
import dev.sluice.internal.scheduler.DrrScheduler;
import dev.sluice.internal.scheduler.QueuedItem;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The scheduler against a model that looks at every item: what it offers, and when it says no. */
@Tag("any-jdk")
class SchedulerModelPropertyTest {
  private static final List<String> QUEUES = List.of("q", "r");
  private static final List<String> KEYS = List.of("a", "b", "c", "d");
  private static final List<String> THROTTLES = List.of("x", "y", "z");

  /** A step; what its numbers mean depends on its kind. */
  record Step(int kind, int a, int b, int c) {}

  private static List<Step> steps(Generator generator) {
    return generator.list(
        0,
        500,
        each ->
            new Step(
                each.below(23),
                each.intBetween(0, 63),
                each.intBetween(0, 63),
                each.intBetween(0, 63)));
  }

  @Test
  void next_ofUnitCosts_delaysNoItem() {
    Property.check(400, generator -> new Run(false, 1, THROTTLES.size()).go(steps(generator)));
  }

  @Test
  void next_ofSingleThrottles_wakesExactly() {
    Property.check(150, generator -> new Run(false, 1, 1).go(steps(generator)));
  }

  @Test
  void next_inStrictOrder_delaysNoItem() {
    Property.check(150, generator -> new Run(true, 1, THROTTLES.size()).go(steps(generator)));
  }

  @Test
  void next_ofMixedCosts_delaysNoItemWithoutReason() {
    Property.check(300, generator -> new Run(false, 4, THROTTLES.size()).go(steps(generator)));
  }

  /** One scheduler and one model, taken through the same steps. */
  private static final class Run {
    private final SchedulerModel model;
    private final FairScheduler<Item> scheduler;
    private final long maxTokens;
    private final int maxThrottles;
    private final List<ScheduledItem<Item>> handles = new ArrayList<>();
    private final List<ScheduledItem<Item>> delivered = new ArrayList<>();
    private final Map<Item, Placement> placements = new HashMap<>();
    private int ids;

    Run(boolean strict, long maxTokens, int maxThrottles) {
      this.model = new SchedulerModel(strict);
      FairScheduler.Builder<Item> builder = FairScheduler.<Item>builder().maxCost(4);
      this.scheduler = strict ? builder.strictOrder().build() : builder.build();
      this.maxTokens = maxTokens;
      this.maxThrottles = maxThrottles;
    }

    void go(List<Step> steps) {
      steps.forEach(this::apply);
      QUEUES.forEach(queue -> credit(queue, Long.MAX_VALUE));
      QUEUES.forEach(queue -> KEYS.forEach(key -> limit(queue, key, Integer.MAX_VALUE)));
      THROTTLES.forEach(name -> rate(name, 2, 10));
      while (serve(true)) {
        // until nothing is left
      }
      assertThat(model.waiting()).isEmpty();
      assertThat(scheduler.next(model.nowNanos())).isInstanceOf(Next.Idle.class);
    }

    private void apply(Step step) {
      switch (step.kind) {
        case 0, 1, 2, 3, 4, 5 -> enqueue(step);
        case 6, 7, 8, 9 -> serve(true);
        case 10 -> serve(false);
        case 11 -> removeItem(step.a);
        case 12 -> rate(pick(THROTTLES, step.a), step.b % 5 / 2.0, step.c % 4);
        case 13 -> unrate(pick(THROTTLES, step.a));
        case 14 -> credit(pick(QUEUES, step.a), step.b % 3);
        case 15 -> limit(pick(QUEUES, step.a), pick(KEYS, step.b), 1 + step.c % 2);
        case 16 -> complete(step.a);
        case 17 -> scheduler.queue(pick(QUEUES, step.a)).setWeight(pick(KEYS, step.b), 1 + step.c);
        case 19, 20 -> requeue(step.a, step.kind == 20);
        case 21 -> share(pick(QUEUES, step.a), step.b % 3, step.c);
        case 18 -> model.advance(step.a * 10_000_000L + step.b);
        default -> credit(pick(QUEUES, step.a), Long.MAX_VALUE);
      }
    }

    private static <E> E pick(List<E> from, int index) {
      return from.get(index % from.size());
    }

    private void enqueue(Step step) {
      Map<String, Long> tokens = new TreeMap<>();
      for (int i = 0; i < THROTTLES.size() && tokens.size() < maxThrottles; i++) {
        if ((step.b >> i & 1) == 1) {
          tokens.put(THROTTLES.get(i), 1 + (step.c + i) % maxTokens);
        }
      }
      String queue = pick(QUEUES, step.a / 4);
      Item item = new Item(ids++, queue, pick(KEYS, step.a), step.b / 8 % 3, tokens);
      Placement placement = Placement.of(item.key()).withPriority(item.priority());
      for (Map.Entry<String, Long> need : tokens.entrySet()) {
        placement = placement.withThrottleKey(need.getKey(), need.getValue());
      }
      placement = placement.withCost(1 + step.c % 4);
      model.add(item);
      placements.put(item, placement);
      handles.add(scheduler.queue(queue).enqueue(item, placement));
    }

    private void removeItem(int index) {
      if (!handles.isEmpty()) {
        ScheduledItem<Item> handle = pick(handles, index);
        boolean waits = model.waiting().contains(handle.item());
        assertThat(handle.isQueued()).isEqualTo(waits);
        assertThat(handle.remove()).isEqualTo(waits);
        model.remove(handle.item());
      }
    }

    private void rate(String name, double perSecond, long burst) {
      model.setRate(name, perSecond, burst);
      scheduler.advanceTo(model.nowNanos());
      scheduler.setLimit(name, Limit.ofRate(perSecond, (double) burst));
    }

    private void unrate(String name) {
      assertThat(scheduler.removeLimit(name)).isEqualTo(model.hasRate(name));
      model.removeRate(name);
    }

    private void credit(String queue, long credit) {
      model.setCredit(queue, credit);
      scheduler.queue(queue).setCredit(credit);
    }

    private void limit(String queue, String key, int limit) {
      model.setLimit(queue, key, limit);
      scheduler.queue(queue).setMaxInFlight(key, limit);
    }

    /*
     * It changes which item goes first, not which can go. The first may have to wait for many
     * tokens, so with several tokens an item the wake-up may move when a share comes due.
     */
    private void share(String queue, int priority, int rate) {
      if (maxTokens > 1) {
        return;
      }
      if (rate % 4 == 0) {
        scheduler.queue(queue).removeMinimumRate(priority);
      } else {
        scheduler.advanceTo(model.nowNanos());
        scheduler.queue(queue).setMinimumRate(priority, Limit.ofRate(rate % 4, 1 + rate % 2));
      }
    }

    private void complete(int index) {
      if (!delivered.isEmpty()) {
        ScheduledItem<Item> handle = delivered.remove(index % delivered.size());
        if (handle.complete()) {
          model.complete(handle.item().queue(), handle.item().key());
        }
        assertThat(handle.complete()).isFalse();
      }
    }

    private void requeue(int index, boolean withTokens) {
      if (!delivered.isEmpty()) {
        ScheduledItem<Item> handle = delivered.remove(index % delivered.size());
        Item item = handle.item();
        if (withTokens) {
          returnTokens(handle);
        }
        if (((QueuedItem<Item>) handle).occupiesSlot()) {
          model.complete(item.queue(), item.key());
        }
        model.add(item);
        handles.remove(handle);
        Placement placement = Objects.requireNonNull(placements.get(item));
        handles.add(scheduler.queue(item.queue()).requeue(handle, placement));
        assertThat(handle.isQueued()).isFalse();
      }
    }

    /** Takes over the new levels; {@link TokenReturnPropertyTest} checks that they are right. */
    private void returnTokens(ScheduledItem<Item> handle) {
      scheduler.advanceTo(model.nowNanos());
      scheduler.returnTokens(handle);
      for (String name : handle.item().tokens().keySet()) {
        scheduler.advanceTo(model.nowNanos());
        scheduler.limitStats(name).ifPresent(stats -> model.setLevel(name, stats.level()));
      }
    }

    /** Asks once, and goes on to the wake-up if there is one; false when nothing can ever go. */
    private boolean serve(boolean confirm) {
      Next<Item> next = scheduler.next(model.nowNanos());
      levelsAgree();
      if (next instanceof Next.Offer<Item> offer) {
        answer(offer, confirm);
        return true;
      }
      nothingIsHeldUp();
      if (next instanceof Next.Wait<Item> wait) {
        long waitNanos = wait.untilNanos() - model.nowNanos();
        assertThat(waitNanos).isPositive();
        if (maxTokens == 1 && !((DrrScheduler<?>) scheduler).isReserving()) {
          wakesInTime(waitNanos);
        }
        model.advance(waitNanos - 1);
        assertThat(scheduler.next(model.nowNanos())).isEqualTo(wait);
        model.advance(1);
        return true;
      }
      assertThat(maxTokens > 1 || earliest() == SchedulerModel.NEVER).isTrue();
      return false;
    }

    private void answer(Next.Offer<Item> offer, boolean confirm) {
      Item item = offer.item();
      assertThat(model.canGo(item)).as("%s can go", item).isTrue();
      if (confirm) {
        assertThat(offer.confirm().isQueued()).isFalse();
        model.deliver(item, model.isLimited(item.queue(), item.key()));
        delivered.add(offer.scheduledItem());
      } else {
        offer.decline();
        levelsAgree();
        Next<Item> again = scheduler.next(model.nowNanos());
        assertThat(again)
            .isInstanceOfSatisfying(
                Next.Offer.class,
                same -> {
                  assertThat(same.item()).isEqualTo(item);
                  same.decline();
                });
      }
    }

    private void nothingIsHeldUp() {
      for (Item item : model.waiting()) {
        if (model.canGo(item)) {
          assertThat(((DrrScheduler<?>) scheduler).isReserving() || waitsBehindLarger(item))
              .as("%s is held up for a reason", item)
              .isTrue();
        }
      }
    }

    /** A waiter keeps its place even if one behind it needs fewer tokens. */
    private boolean waitsBehindLarger(Item item) {
      return model.waiting().stream()
          .filter(model::isEligible)
          .filter(other -> !model.canGo(other))
          .anyMatch(other -> needsMore(other, item));
    }

    private static boolean needsMore(Item other, Item item) {
      return item.tokens().entrySet().stream()
          .anyMatch(need -> other.tokens().getOrDefault(need.getKey(), 0L) > need.getValue());
    }

    private void wakesInTime(long waitNanos) {
      if (maxThrottles == 1) {
        assertThat(waitNanos).isEqualTo(earliest());
      } else {
        assertThat(waitNanos).isLessThanOrEqualTo(earliest());
      }
    }

    private long earliest() {
      return model.waiting().stream()
          .filter(model::isEligible)
          .mapToLong(model::nanosUntil)
          .min()
          .orElse(SchedulerModel.NEVER);
    }

    private void levelsAgree() {
      for (String name : THROTTLES) {
        scheduler.advanceTo(model.nowNanos());
        @Nullable Double level = scheduler.limitStats(name).map(LimitStats::level).orElse(null);
        assertThat(level == null).isEqualTo(!model.hasRate(name));
        if (level != null) {
          assertThat(level).isEqualTo(model.level(name));
        }
      }
    }
  }
}
