package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.ModelPropertyTest.Grant;
import dev.sluice.internal.bucket.UnitScale;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads, one bucket: never a token too many, none lost. */
final class ConcurrencyTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void staleReading_afterALaterGrantOfAnotherThread_mintsNothing() {
    // The clock lets B act between A's reading and A's use of it.
    AtomicLong time = new AtomicLong(1_000_000_000);
    AtomicReference<Runnable> betweenReadingAndUse = new AtomicReference<>(() -> {});
    NanoClock clock =
        () -> {
          long reading = time.get();
          betweenReadingAndUse.getAndSet(() -> {}).run();
          return reading;
        };
    TokenBucket bucket = bucket(new Limit.Balanced(1_000, 1_000, SECOND), 1_000, clock);
    assertThat(bucket.tryAcquire(1_000)).isTrue();
    betweenReadingAndUse.set(
        () -> {
          time.addAndGet(3_000_000);
          assertThat(bucket.tryAcquire(3)).as("B takes what 3 ms minted").isTrue();
        });
    assertThat(bucket.tryAcquire(1)).as("A goes on with its old reading").isFalse();
    assertThat(bucket.available()).isZero();
    assertThat(bucket.tryAcquire(1)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    // threads, capacity, tokens per second
    "2, 1000, 1000",
    "4, 1000, 1000",
    "2, 100000, 1000",
    "4, 1, 1000000",
    "2, 10, 15000000",
    "4, 100, 999983",
    "2, 1, 1000000000",
  })
  void realClock_grantsAtMostCapacityPlusRate(int threads, long capacity, long perSecond) {
    TokenBucket bucket = TokenBucket.of(new Limit.Balanced(capacity, perSecond, SECOND));
    long start = System.nanoTime();
    long end = start + 300_000_000;
    long granted =
        sumOver(
            threads,
            () -> {
              long count = 0;
              // At least once, even if a busy machine delays the start of the thread.
              do {
                count += bucket.tryAcquire() ? 1 : 0;
              } while (System.nanoTime() - end < 0);
              return count;
            });
    long elapsed = System.nanoTime() - start;
    double legal = capacity + (double) perSecond * elapsed / 1e9 + 1;
    assertThat((double) granted).isLessThanOrEqualTo(legal);
    assertThat(granted).isGreaterThanOrEqualTo(Math.min(capacity, 1));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 4})
  void realClock_everyWindowOfTheGrantLogHolds(int threads) {
    Limit.Balanced limit = new Limit.Balanced(50, 100_000, SECOND);
    TokenBucket bucket = TokenBucket.of(limit);
    long start = System.nanoTime();
    List<Grant> log = Collections.synchronizedList(new ArrayList<>());
    sumOver(
        threads,
        () -> {
          List<Grant> mine = new ArrayList<>();
          long now = System.nanoTime();
          while (now - start < 300_000_000 || mine.size() <= 500) {
            now = System.nanoTime();
            if (bucket.tryAcquire(2, now)) {
              mine.add(new Grant(now, 2));
            }
          }
          log.addAll(mine);
          return mine.size();
        });
    assertThat(log).hasSizeGreaterThan(1_000);
    Windows.assertBounded(log, limit);
  }

  @Test
  void eightThreadsWithoutRefill_getExactlyTheCapacity() {
    for (int round = 0; round < 20; round++) {
      TokenBucket bucket = bucket(new Limit.Manual(100_000), 100_000, ManualClock.create());
      long granted =
          sumOver(
              8,
              () -> {
                long count = 0;
                while (bucket.tryAcquire()) {
                  count++;
                }
                return count;
              });
      assertThat(granted).isEqualTo(100_000);
      assertThat(bucket.available()).isZero();
    }
  }

  @Test
  void coprimeRate_drivenPastItsEpochByThreads_losesAndMintsNothing() {
    // Never full, so that every token minted must be granted once; an epoch lasts about a second.
    Limit.Balanced limit = new Limit.Balanced(3_000_000_000L, 999_999_937, SECOND);
    AtomicLong clock = new AtomicLong();
    TokenBucket bucket = bucket(limit, 0, clock::get);
    long granted =
        sumOver(
            4,
            () -> {
              long count = 0;
              for (int i = 0; i < 20_000; i++) {
                clock.addAndGet(50_000_000);
                while (bucket.tryAcquire(1_000_003)) {
                  count += 1_000_003;
                }
              }
              return count;
            });
    assertThat(clock.get()).isGreaterThan(1_000 * UnitScale.of(limit).horizonNanos());
    long minted = clock.get() / 1_000_000_000 * 999_999_937;
    assertThat(granted + bucket.available()).isEqualTo(minted);
  }
}
