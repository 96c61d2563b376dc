package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.ModelPropertyTest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.LongRange;

/** Random callers that wait, give up and try in between: the bounds hold at the time of service. */
final class WaitersPropertyTest {

  /** What a caller does after {@code advanceNanos}. */
  record Step(Kind kind, long advanceNanos, int number) {}

  enum Kind {
    WAIT,
    TRY,
    CANCEL,
    ADVANCE
  }

  @Property(tries = 1_000)
  void balanced_everyWindowHolds(
      @ForAll @LongRange(min = 1, max = 20) long capacity,
      @ForAll @LongRange(min = 1, max = 50) long tokens,
      @ForAll("steps") List<Step> steps) {
    Limit.Balanced limit = new Limit.Balanced(capacity, tokens, Duration.ofNanos(1_000));
    Windows.assertBounded(new Run(limit).play(steps), limit);
  }

  @Property(tries = 1_000)
  void strict_everyPeriodHolds(
      @ForAll @LongRange(min = 1, max = 20) long capacity, @ForAll("steps") List<Step> steps) {
    Limit limit = new Limit.Strict(capacity, Duration.ofNanos(300));
    Map<Long, Long> perPeriod = new TreeMap<>();
    new Run(limit)
        .play(steps)
        .forEach(grant -> perPeriod.merge(grant.nanos() / 300, grant.tokens(), Long::sum));
    assertThat(perPeriod.values()).allMatch(sum -> sum <= capacity);
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
        play(step, 1 + step.number % bucket.limit().capacity());
      }
      clock.advance(Duration.ofHours(1));
      assertThat(bucket.waiting()).isZero();
      assertThat(clock.pendingAlarms()).isZero();
      assertThat(waiters).allMatch(CompletableFuture::isDone);
      assertThat(served).as("first come, first served").isSorted();
      assertThat(bucket.available()).isEqualTo(bucket.limit().capacity());
      return grants;
    }

    private void play(Step step, long tokens) {
      switch (step.kind) {
        case WAIT -> join(tokens, waiters.size());
        case TRY -> {
          if (bucket.tryConsume(tokens)) {
            grants.add(new Grant(clock.nanoTime(), tokens));
          }
        }
        case CANCEL -> {
          if (!waiters.isEmpty()) {
            waiters.get(step.number % waiters.size()).cancel(true);
          }
        }
        case ADVANCE -> clock.advanceNanos(step.number);
      }
    }

    private void join(long tokens, int number) {
      CompletableFuture<Void> waiter = bucket.consume(tokens);
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

  @Provide
  Arbitrary<List<Step>> steps() {
    return Combinators.combine(
            Arbitraries.of(Kind.class),
            Arbitraries.longs().between(0, 150),
            Arbitraries.integers().between(0, 400))
        .as(Step::new)
        .list()
        .ofMinSize(1)
        .ofMaxSize(60);
  }
}
