package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.scheduler.DrrScheduler;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The bounds that the scheduler promises, over random keys, weights, sets, rates and arrivals. */
@Tag("any-jdk")
class FairnessPropertyTest {
  private static final long SECOND = 1_000_000_000;
  private static final int UNIT = 4;

  /** An item of another key that arrives at some point: its key, cost, limit and weight. */
  record Noise(int at, int key, int cost, int throttle, int weight) {}

  private static List<Noise> noise(Generator generator) {
    return generator.list(
        0,
        300,
        each ->
            new Noise(
                each.intBetween(0, 400),
                each.intBetween(0, 5),
                each.intBetween(1, UNIT),
                each.intBetween(0, 2),
                each.intBetween(1, 9)));
  }

  /**
   * Keys that always have a deliverable item are served by weight while other items arrive, wait
   * and leave. Counts from their first items on, because new keys share every second turn.
   */
  @Test
  void unthrottledKeys_areServedByWeightInEveryWindow() {
    Property.check(
        1_000,
        generator -> {
          List<Integer> weights = generator.list(2, 5, each -> each.intBetween(1, 9));
          List<Integer> costs = generator.list(1, 7, each -> each.intBetween(1, UNIT));
          List<Noise> noise = noise(generator);
          FairScheduler<String> scheduler = FairScheduler.<String>builder().maxCost(UNIT).build();
          scheduler.advanceTo(0);
          scheduler.setLimit("t1", Limit.ofRate(10, 1));
          scheduler.setLimit("t2", Limit.ofRate(3, 2));
          FairQueue<String> queue = scheduler.queue("q");
          for (int i = 0; i < weights.size(); i++) {
            for (int n = 0; n < 500; n++) {
              int cost = costs.get((n + i) % costs.size());
              Placement placement = Placement.of("k" + i).withWeight(weights.get(i)).withCost(cost);
              queue.enqueue(String.valueOf(cost), placement);
            }
          }
          List<double[]> served = new ArrayList<>();
          double[] sums = new double[weights.size()];
          for (int step = 0; step < 400; step++) {
            add(queue, noise, step);
            Next.Offer<String> offer = (Next.Offer<String>) scheduler.next(step * SECOND / 100);
            ScheduledItem<String> item = offer.confirm();
            if (item.fairnessKey().startsWith("k")) {
              int key = item.fairnessKey().charAt(1) - '0';
              sums[key] += Double.parseDouble(item.item()) / weights.get(key);
              served.add(sums.clone());
            }
          }
          // With unequal costs a round's order may change, which costs one quantum more than DRR.
          boolean equalCosts = costs.stream().distinct().count() == 1;
          int maxCost = costs.stream().mapToInt(Integer::intValue).max().orElseThrow();
          assertGapWithin(2 * maxCost + (equalCosts ? 1 : 2) * UNIT, served, weights.size());
        });
  }

  private static void add(FairQueue<String> queue, List<Noise> noise, int step) {
    for (Noise each : noise) {
      if (each.at == step) {
        Placement placement =
            Placement.of("noise" + each.key).withWeight(each.weight).withCost(each.cost);
        queue.enqueue(
            "", each.throttle == 0 ? placement : placement.withThrottleKeys("t" + each.throttle));
      }
    }
  }

  /** The gap in a window is the change of the difference over it. */
  private static void assertGapWithin(double bound, List<double[]> served, int keys) {
    for (int i = 0; i < keys; i++) {
      for (int j = 0; j < i; j++) {
        double least = Double.MAX_VALUE;
        double most = -Double.MAX_VALUE;
        for (double[] sums : served) {
          if (sums[i] > 0 && sums[j] > 0) {
            least = Math.min(least, sums[i] - sums[j]);
            most = Math.max(most, sums[i] - sums[j]);
          }
        }
        assertThat(most - least).isLessThanOrEqualTo(bound + 1e-6);
      }
    }
  }

  /** One delivery of a throttle key. */
  record Delivery(long atNanos, long tokens) {}

  @Test
  void throttleKeys_areKeptInEveryWindow() {
    Property.check(
        500,
        generator -> {
          List<Integer> halvesPerSecond = generator.list(1, 3, each -> each.intBetween(1, 40));
          int burst = generator.intBetween(1, 5);
          List<Noise> noise = noise(generator);
          List<Integer> stepMillis = generator.list(1, 20, each -> each.intBetween(0, 700));
          FairScheduler<Map<String, Long>> scheduler =
              FairScheduler.<Map<String, Long>>builder().maxCost(UNIT).build();
          for (int i = 0; i < halvesPerSecond.size(); i++) {
            scheduler.advanceTo(0);
            scheduler.setLimit("t" + i, Limit.ofRate(halvesPerSecond.get(i) / 2.0, (double) burst));
          }
          Map<String, List<Delivery>> log = new TreeMap<>();
          long now = 0;
          for (int step = 0; step < 400; step++) {
            now += stepMillis.get(step % stepMillis.size()) * 1_000_000L;
            for (Noise each : noise) {
              if (each.at == step) {
                enqueue(scheduler, each, halvesPerSecond.size(), burst);
              }
            }
            while (scheduler.next(now) instanceof Next.Offer<Map<String, Long>> offer) {
              long atNanos = now;
              offer
                  .confirm()
                  .item()
                  .forEach(
                      (name, tokens) ->
                          log.computeIfAbsent(name, absent -> new ArrayList<>())
                              .add(new Delivery(atNanos, tokens)));
            }
          }
          log.forEach(
              (name, deliveries) ->
                  assertWithin(deliveries, halvesPerSecond.get(name.charAt(1) - '0'), burst));
        });
  }

  private static void enqueue(
      FairScheduler<Map<String, Long>> scheduler, Noise each, int throttles, int burst) {
    Map<String, Long> tokens = new TreeMap<>();
    tokens.put("t" + each.throttle % throttles, (long) Math.min(burst, each.cost));
    if (each.weight > 5) {
      tokens.put("t" + (each.throttle + 1) % throttles, 1L);
    }
    Placement placement = Placement.of("k" + each.key).withWeight(each.weight);
    for (Map.Entry<String, Long> need : tokens.entrySet()) {
      placement = placement.withThrottleKey(need.getKey(), need.getValue());
    }
    scheduler.queue("q" + each.at % 2).enqueue(tokens, placement);
  }

  private static void assertWithin(List<Delivery> deliveries, int halvesPerSecond, int burst) {
    // Tokens in halves of a nanosecond's worth, so that nothing is rounded. The worst window that
    // ends with a delivery starts with it, or goes on from the worst that ends with the one before.
    long worst = 0;
    long before = 0;
    for (Delivery each : deliveries) {
      worst = Math.max(0, worst - (each.atNanos - before) * halvesPerSecond);
      worst += each.tokens * 2 * SECOND;
      before = each.atNanos;
      assertThat(worst).isLessThanOrEqualTo(2 * SECOND * burst);
    }
  }

  /** A waiter that needs two scarce tokens at once, each wanted by others whenever it arrives. */
  @Test
  void anItemThatNeedsTwoScarceTokens_isNotStarved() {
    FairScheduler<String> scheduler = FairScheduler.create();
    FairQueue<String> queue = scheduler.queue("q");
    scheduler.advanceTo(0);
    scheduler.setLimit("a", Limit.ofRate(1, 1));
    scheduler.setLimit("b", Limit.ofRate(1, 1));
    // Empties b half a second later than a, so that the tokens never come together.
    queue.enqueue("first", Placement.of("first").withThrottleKeys("a"));
    assertThat(confirmAll(scheduler, 0)).containsExactly("first");
    queue.enqueue("second", Placement.of("second").withThrottleKeys("b"));
    assertThat(confirmAll(scheduler, SECOND / 2)).containsExactly("second");
    for (int i = 0; i < 1_000; i++) {
      queue.enqueue("a", Placement.of("a" + i % 3).withThrottleKeys("a"));
      queue.enqueue("b", Placement.of("b" + i % 3).withThrottleKeys("b"));
      queue.enqueue("both", Placement.of("both").withThrottleKeys("a", "b"));
    }
    List<String> served = new ArrayList<>();
    for (long now = SECOND / 2; now < 200 * SECOND; now += SECOND / 4) {
      served.addAll(confirmAll(scheduler, now));
    }
    assertThat(served.stream().filter("both"::equals).count()).isGreaterThan(10);
    assertThat(served.stream().filter("a"::equals).count()).isGreaterThan(100);
    assertThat(served.stream().filter("b"::equals).count()).isGreaterThan(100);
  }

  /** A more urgent item may take the tokens held for it; then it must begin again. */
  @Test
  void aMultiLimitReservation_survivesUrgentWork() {
    FairScheduler<String> scheduler = FairScheduler.create();
    FairQueue<String> queue = scheduler.queue("q");
    scheduler.advanceTo(0);
    scheduler.setLimit("a", Limit.ofRate(1, 1));
    scheduler.setLimit("b", Limit.ofRate(1, 1));
    queue.enqueue("first", Placement.of("a").withThrottleKeys("a"));
    assertThat(confirmAll(scheduler, 0)).hasSize(1);
    for (int i = 0; i < 50; i++) {
      queue.enqueue("a", Placement.of("a").withThrottleKeys("a"));
    }
    for (int i = 0; i < 50; i++) {
      queue.enqueue("b", Placement.of("b").withThrottleKeys("b"));
    }
    queue.enqueue("both", Placement.of("both").withThrottleKeys("a", "b"));
    long now = SECOND / 2;
    for (int i = 0; i < 500 && !((DrrScheduler<?>) scheduler).isReserving(); i++) {
      Next<String> next = scheduler.next(now);
      if (next instanceof Next.Offer<String> offer) {
        assertThat(offer.confirm().isQueued()).isFalse();
      } else if (next instanceof Next.Wait<String> wait
          && !((DrrScheduler<?>) scheduler).isReserving()) {
        now = Math.min(wait.untilNanos(), now + SECOND / 2);
      }
    }
    assertThat(((DrrScheduler<?>) scheduler).isReserving()).isTrue();
    String parkedAt = queue.stats("both").orElseThrow().throttled().get(0).throttleKey();
    String held = parkedAt.equals("a") ? "b" : "a";
    queue.enqueue("urgent", Placement.of("urgent").withPriority(1).withThrottleKeys(held));
    for (int i = 0; i < 3; i++) {
      queue.enqueue("free", Placement.of("free").withPriority(1));
    }
    assertThat(confirmAll(scheduler, now)).contains("free");
    while (scheduler.next(now) instanceof Next.Wait<String> wait) {
      now = wait.untilNanos();
      assertThat(confirmAll(scheduler, now)).hasSizeLessThan(9);
    }
    assertThat(queue.stats()).isEmpty();
  }

  private static List<String> confirmAll(FairScheduler<String> scheduler, long nowNanos) {
    List<String> items = new ArrayList<>();
    while (scheduler.next(nowNanos) instanceof Next.Offer<String> offer) {
      items.add(offer.confirm().item());
    }
    return items;
  }
}
