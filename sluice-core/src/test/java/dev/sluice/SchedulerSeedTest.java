package dev.sluice;

import static dev.sluice.Schedules.enqueue;
import static dev.sluice.Schedules.items;
import static dev.sluice.Schedules.perKey;
import static dev.sluice.Schedules.scheduler;
import static dev.sluice.Schedules.serve;
import static dev.sluice.Schedules.within;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The named cases of the second seed, in both orders, and the shares it asks for. */
class SchedulerSeedTest {
  private static final long SECOND = 1_000_000_000;

  private final FairScheduler<String> scheduler = FairScheduler.create();
  private final FairQueue<String> queue = scheduler.queue("q");

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ac2_aThrottledKeyIsSkipped_othersGo(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    both.advanceTo(0);
    both.setLimit("slow", Limit.ofRate(1, 1));
    both.queue("q").enqueue("t1", Placement.of("throttled").withThrottleKeys("slow"));
    both.queue("q").enqueue("t2", Placement.of("throttled").withThrottleKeys("slow"));
    both.queue("q").enqueue("f1", Placement.of("free"));
    both.queue("q").enqueue("f2", Placement.of("free"));
    assertThat(items(serve(both, 9, 0))).containsExactlyInAnyOrder("t1", "f1", "f2");
    assertThat(both.next(0)).isEqualTo(new Next.Wait<>(SECOND));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ac3_allKeysMustHaveTokens(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    both.advanceTo(0);
    both.setLimit("provider:aws", Limit.ofRate(1, 5));
    both.setLimit("region:us-east-1", Limit.ofRate(1, 1));
    Placement placement = Placement.of("a").withThrottleKeys("provider:aws", "region:us-east-1");
    enqueue(both.queue("q"), 3, placement);
    assertThat(serve(both, 9, 0)).hasSize(1);
    both.advanceTo(0);
    assertThat(both.limitStats("provider:aws").orElseThrow().level()).isEqualTo(4);
    both.advanceTo(0);
    assertThat(both.limitStats("region:us-east-1").orElseThrow().level()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ac4_refillLetsTheNextOneGo(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    both.advanceTo(0);
    both.setLimit("slow", Limit.ofRate(10, 1));
    enqueue(both.queue("q"), 3, Placement.of("a").withThrottleKeys("slow"));
    assertThat(items(serve(both, 9, 0))).containsExactly("a0");
    assertThat(serve(both, 9, SECOND / 10 - 1)).isEmpty();
    assertThat(items(serve(both, 9, SECOND / 10))).containsExactly("a1");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ac5_aParkedKeyStaysActive_withItsDeficit(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    both.advanceTo(0);
    both.setLimit("slow", Limit.ofRate(1, 1));
    enqueue(both.queue("q"), 3, Placement.of("a").withWeight(3).withThrottleKeys("slow"));
    assertThat(serve(both, 9, 0)).hasSize(1);
    FairnessKeyStats stats = both.queue("q").stats("a").orElseThrow();
    assertThat(stats.pending()).isEqualTo(2);
    assertThat(stats.deficit()).isEqualTo(2);
    assertThat(stats.throttled())
        .containsExactly(
            new FairnessKeyStats.Throttled("slow", 2, Optional.of(Duration.ofSeconds(1))));
    both.advanceTo(0);
    assertThat(both.limitStats("slow").orElseThrow().waiters()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itemsWithoutThrottles_areUnthrottled(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    both.advanceTo(0);
    both.setLimit("slow", Limit.ofRate(0, 0));
    enqueue(both.queue("q"), 100, Placement.of("a"));
    assertThat(serve(both, 999, 0)).hasSize(100);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void tenThousandItemsOfSixKeys_areSharedByWeight(boolean strict) {
    FairScheduler<String> both = scheduler(strict);
    for (int weight = 1; weight <= 6; weight++) {
      enqueue(both.queue("q"), 10_000, Placement.of("k" + weight).withWeight(weight));
    }
    Map<String, Integer> counts = perKey(serve(both, 10_000, 0));
    for (int weight = 1; weight <= 6; weight++) {
      assertThat(counts.get("k" + weight)).isCloseTo(10_000 * weight / 21, within(6));
    }
  }

  @Test
  void weights_areKeptWithinAThousandthOfTheShare() {
    for (int weight = 1; weight <= 5; weight++) {
      enqueue(queue, 10_000, Placement.of("k" + weight).withWeight(weight));
    }
    assertSharesWithinAThousandth(perKey(serve(scheduler, 5_000, 0)));
  }

  @Test
  void weights_areKeptAtASharedExhaustedBucket() {
    scheduler.advanceTo(0);
    scheduler.setLimit("shared", Limit.ofRate(1_000, 1));
    for (int weight = 1; weight <= 5; weight++) {
      Placement placement = Placement.of("k" + weight).withWeight(weight);
      enqueue(queue, 10_000, placement.withThrottleKeys("shared"));
    }
    List<ScheduledItem<String>> served = new ArrayList<>();
    for (long now = 0; served.size() < 5_000; now += SECOND / 1_000) {
      served.addAll(serve(scheduler, 9, now));
    }
    assertSharesWithinAThousandth(perKey(served));
  }

  @ParameterizedTest
  @CsvSource({"2, 2", "5, 5", "7, 10", "10, 10", "20, 50", "50, 50", "100, 77"})
  void weights_areKeptAtABucketThatFillsInBursts(int burst, int stepMillis) {
    scheduler.advanceTo(0);
    scheduler.setLimit("shared", Limit.ofRate(1_000, burst));
    for (int weight = 1; weight <= 5; weight++) {
      Placement placement = Placement.of("k" + weight).withWeight(weight);
      enqueue(queue, 10_000, placement.withThrottleKeys("shared"));
    }
    List<ScheduledItem<String>> served = new ArrayList<>();
    for (long now = 0; served.size() < 5_000; now += stepMillis * SECOND / 1_000) {
      served.addAll(serve(scheduler, 5_000 - served.size(), now));
    }
    assertSharesWithinAThousandth(perKey(served));
  }

  private static void assertSharesWithinAThousandth(Map<String, Integer> counts) {
    for (int weight = 1; weight <= 5; weight++) {
      assertThat(counts.get("k" + weight)).isCloseTo(5_000 * weight / 15, within(5));
    }
  }
}
