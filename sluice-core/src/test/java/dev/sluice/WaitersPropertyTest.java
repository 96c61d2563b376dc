package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.ModelPropertyTest.Grant;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Random callers that wait, give up and try in between: the bounds hold at the time of service. */
final class WaitersPropertyTest {

  /** An action of a caller after {@code advanceNanos}. */
  record Step(Kind kind, long advanceNanos, int number) {}

  enum Kind {
    WAIT,
    TRY,
    CANCEL,
    ADVANCE,
    WAIT_FOR_MUCH,
    REPLENISH,
    RECONFIGURE
  }

  private static final Kind[] USUAL = {Kind.WAIT, Kind.TRY, Kind.CANCEL, Kind.ADVANCE};

  private static final List<Limit> LIMITS =
      List.of(
          new Limit.Balanced(7, 3, Duration.ofNanos(100)),
          new Limit.Strict(5, Duration.ofNanos(70)),
          new Limit.Manual(9),
          new Limit.DenyAll(),
          new Limit.Balanced(3, 999_983, Duration.ofSeconds(1)),
          new Limit.Strict(11, Duration.ofNanos(300)));

  @Test
  void balanced_everyWindowHolds() {
    Property.check(
        1_000,
        generator -> {
          long capacity = generator.longBetween(1, 20);
          long tokens = generator.longBetween(1, 50);
          List<Step> steps = steps(generator, USUAL);
          Limit.Balanced limit = new Limit.Balanced(capacity, tokens, Duration.ofNanos(1_000));
          Windows.assertBounded(new Run(limit).play(steps), limit);
        });
  }

  @Test
  void strict_everyPeriodHolds() {
    Property.check(
        1_000,
        generator -> {
          long capacity = generator.longBetween(1, 20);
          List<Step> steps = steps(generator, USUAL);
          Limit limit = new Limit.Strict(capacity, Duration.ofNanos(300));
          Map<Long, Long> perPeriod = new TreeMap<>();
          new Run(limit)
              .play(steps)
              .forEach(grant -> perPeriod.merge(grant.nanos() / 300, grant.tokens(), Long::sum));
          assertThat(perPeriod.values()).allMatch(sum -> sum <= capacity);
        });
  }

  /** In all modes waiters are served in order, and none is forgotten. */
  @Test
  void waiters_areServedInOrderInEveryMode() {
    Property.check(
        2_000,
        generator -> {
          List<Step> steps = steps(generator, Kind.values());
          assertThat(new Run(LIMITS.get(0)).play(steps)).isNotNull();
        });
  }

  /** One bucket and what its callers saw. */
  private static final class Run {
    private final ManualClock clock = ManualClock.create();
    private final List<Grant> grants = new ArrayList<>();
    private final List<Integer> served = new ArrayList<>();
    private final List<CompletableFuture<Void>> waiters = new ArrayList<>();
    private final TokenBucket bucket;

    Run(Limit limit) {
      this.bucket = TokenBucket.builder().limit(limit).clock(clock).build();
    }

    List<Grant> play(List<Step> steps) {
      for (Step step : steps) {
        clock.advanceNanos(step.advanceNanos);
        play(step, 1 + step.number % Math.max(1, bucket.limit().capacity()));
      }
      if (!(bucket.limit() instanceof Limit.Balanced || bucket.limit() instanceof Limit.Strict)) {
        bucket.reconfigure(LIMITS.get(0));
      }
      clock.advance(Duration.ofHours(1));
      assertThat(bucket.waiters()).isZero();
      assertThat(Threads.pendingAlarms(clock)).isZero();
      assertThat(waiters).allMatch(CompletableFuture::isDone);
      assertThat(served).as("first come, first served").isSorted();
      assertThat(bucket.available()).isEqualTo(bucket.limit().capacity());
      return grants;
    }

    private void play(Step step, long tokens) {
      switch (step.kind) {
        case WAIT -> join(tokens, waiters.size());
        case TRY -> {
          if (bucket.tryAcquire(tokens)) {
            grants.add(new Grant(clock.nanoTime(), tokens));
          }
        }
        case CANCEL -> {
          if (!waiters.isEmpty()) {
            waiters.get(step.number % waiters.size()).cancel(true);
          }
        }
        case ADVANCE -> clock.advanceNanos(step.number);
        case WAIT_FOR_MUCH -> join(tokens + bucket.limit().capacity(), waiters.size());
        case REPLENISH -> bucket.replenish(tokens);
        case RECONFIGURE -> bucket.reconfigure(LIMITS.get(step.number % LIMITS.size()));
      }
    }

    private void join(long tokens, int number) {
      CompletableFuture<Void> waiter = bucket.acquireAsync(tokens);
      waiters.add(waiter);
      CompletableFuture<Void> noted =
          waiter.thenRun(
              () -> {
                grants.add(new Grant(clock.nanoTime(), tokens));
                served.add(number);
              });
      assertThat(noted.isDone()).isEqualTo(waiter.isDone());
    }
  }

  private static List<Step> steps(Generator generator, Kind... kinds) {
    return generator.list(
        1,
        60,
        each -> new Step(each.pick(kinds), each.longBetween(0, 150), each.intBetween(0, 400)));
  }
}
