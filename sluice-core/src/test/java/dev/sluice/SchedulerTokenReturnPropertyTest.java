package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Items that name several throttle keys are delivered and returned in any order, while rates and
 * levels change: an account of each key, which knows nothing of debts, finds that the items which
 * were not returned took no token that was not there.
 */
class SchedulerTokenReturnPropertyTest {
  private static final List<String> KEYS = List.of("x", "y", "z");

  /** Rates are multiples of a half, so one nanosecond mints whole units. */
  private static final long UNITS_PER_TOKEN = 2_000_000_000L;

  /** A rate or a level, from its instant on; or a charge. */
  private sealed interface Event {
    long nanos();
  }

  private record Charge(long nanos, long tokens, int item) implements Event {}

  /** Halves of a token per second, and the burst; negative for no rate. */
  private record Rate(long nanos, long halves, long burst) implements Event {}

  private record Level(long nanos, long tokens) implements Event {}

  @Test
  void servedItems_stayWithinEveryLimit() {
    Property.check(1_500, generator -> new Run(generator).go(1 + generator.below(250)));
  }

  private static final class Run {
    private final Generator generator;
    private final FairScheduler<Integer> scheduler =
        FairScheduler.<Integer>builder().maxCost(4).build();
    private final FairQueue<Integer> queue = scheduler.queue("q");
    private final Map<String, List<Event>> accounts = new HashMap<>();
    private final List<ScheduledItem<Integer>> delivered = new ArrayList<>();
    private final Map<Integer, Placement> placements = new HashMap<>();
    private final Set<Integer> returned = new HashSet<>();
    private long nowNanos;
    private int items;

    Run(Generator generator) {
      this.generator = generator;
      KEYS.forEach(key -> accounts.put(key, new ArrayList<>(List.of(new Rate(0, -1, 0)))));
      KEYS.forEach(this::setRate);
    }

    void go(int steps) {
      for (int i = 0; i < steps; i++) {
        String key = generator.pick("x", "y", "z");
        switch (generator.below(16)) {
          case 0 -> setRate(key);
          case 1 -> removeRate(key);
          case 2 -> setLevel(key);
          case 3, 4, 5 -> pass();
          case 6, 7, 8, 9 -> giveBack();
          default -> enqueue();
        }
        deliver();
      }
      accounts.forEach(this::check);
    }

    private void setRate(String key) {
      long halves = generator.below(5) == 0 ? 0 : generator.longBetween(1, 8);
      long burst = generator.longBetween(1, 12);
      accounts.get(key).add(new Rate(nowNanos, halves, burst));
      scheduler.advanceTo(nowNanos);
      scheduler.setLimit(key, Limit.ofRate(halves / 2.0, (double) burst));
    }

    private void removeRate(String key) {
      if (scheduler.removeLimit(key)) {
        accounts.get(key).add(new Rate(nowNanos, -1, 0));
      }
    }

    private void setLevel(String key) {
      if (scheduler.hasLimit(key)) {
        long tokens = generator.below(13);
        accounts.get(key).add(new Level(nowNanos, tokens));
        scheduler.advanceTo(nowNanos);
        scheduler.setLevel(key, (double) tokens);
      }
    }

    private void pass() {
      nowNanos += generator.nextBoolean() ? generator.below(10) : generator.below(1 << 30);
    }

    private void enqueue() {
      Placement placement = Placement.of(generator.pick("a", "b"));
      for (String key : KEYS) {
        if (generator.nextBoolean()) {
          placement = placement.withThrottleKey(key, generator.longBetween(1, 4));
        }
      }
      placements.put(++items, placement);
      queue.enqueue(items, placement);
    }

    private void deliver() {
      while (scheduler.next(nowNanos) instanceof Next.Offer<Integer> offer) {
        ScheduledItem<Integer> item = offer.confirm();
        delivered.add(item);
        placements
            .get(item.item())
            .throttleKeys()
            .forEach(
                (key, tokens) -> accounts.get(key).add(new Charge(nowNanos, tokens, item.item())));
      }
    }

    /** Sometimes once more, which must do nothing. */
    private void giveBack() {
      if (!delivered.isEmpty()) {
        ScheduledItem<Integer> item = delivered.get(generator.below(delivered.size()));
        returned.add(item.item());
        scheduler.advanceTo(nowNanos);
        scheduler.returnTokens(item);
        if (generator.nextBoolean()) {
          delivered.remove(item);
        }
      }
    }

    /** A key that gets a rate, or another one after none, begins full. */
    private void check(String key, List<Event> events) {
      Rate rate = new Rate(0, -1, 0);
      long level = 0;
      long at = 0;
      for (Event event : events) {
        long minted = Math.max(0, rate.halves) * (event.nanos() - at);
        level = Math.min(rate.burst * UNITS_PER_TOKEN, level + minted);
        at = event.nanos();
        if (event instanceof Rate next) {
          long full = next.burst * UNITS_PER_TOKEN;
          level = rate.halves < 0 ? full : Math.min(level, full);
          rate = next;
        } else if (event instanceof Level set) {
          level = Math.min(set.tokens, rate.burst) * UNITS_PER_TOKEN;
        } else if (event instanceof Charge charge && !returned.contains(charge.item)) {
          level -= rate.halves < 0 ? 0 : charge.tokens * UNITS_PER_TOKEN;
        }
        assertThat(level).as("%s after %s of %s", key, event, events).isNotNegative();
      }
    }
  }
}
