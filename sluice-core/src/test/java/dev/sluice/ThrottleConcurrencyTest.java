package dev.sluice;

import static dev.sluice.Threads.beside;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.ModelPropertyTest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads, many keys: never a token too many, none lost, nobody stuck. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // who spins is not asked
final class ThrottleConcurrencyTest {
  private static final int KEYS = 8;
  private static final long BURST = 1_000_000;

  @Test
  void aWriterWithAnOldReading_doesNotBackdateAFasterRate() {
    AtomicLong time = new AtomicLong();
    AtomicReference<Runnable> betweenReadingAndUse = new AtomicReference<>(() -> {});
    Limits throttle =
        Limits.builder()
            .clock(
                () -> {
                  long reading = time.get();
                  betweenReadingAndUse.getAndSet(() -> {}).run();
                  return reading;
                })
            .build();
    throttle.set("key", Limit.ofRate(1, 10));
    betweenReadingAndUse.set(
        () -> {
          time.set(5_000_000_000L);
          assertThat(throttle.tryAcquire("key", 5)).isTrue();
        });
    throttle.set("key", Limit.ofRate(1_000, 10));
    assertThat(level(throttle, "key")).isEqualTo(5);
  }

  @Test
  void eightThreadsWithoutRefill_getExactlyTheBurst() {
    for (int round = 0; round < 10; round++) {
      Limits throttle = Limits.create();
      throttle.set("key", Limit.ofRate(0, 50_000));
      long granted =
          sumOver(
              8,
              () -> {
                long count = 0;
                while (throttle.tryAcquire("key")) {
                  count++;
                }
                return count;
              });
      assertThat(granted).isEqualTo(50_000);
    }
  }

  @Test
  void restoredWhileItIsRemoved_beginsEmpty() {
    Limits throttle = Limits.create();
    AtomicBoolean restoring = new AtomicBoolean(true);
    AtomicInteger turns = new AtomicInteger();
    long full =
        sumOver(
            2,
            () -> {
              long count = 0;
              if (turns.getAndIncrement() == 0) {
                for (int i = 0; i < 300_000; i++) {
                  throttle.restore("key", Limit.ofRate(0, 10));
                  count += throttle.stats("key").filter(all -> all.level() > 0).isPresent() ? 1 : 0;
                }
                restoring.set(false);
              } else {
                while (restoring.get()) {
                  throttle.remove("key");
                }
              }
              return count;
            });
    assertThat(full).isZero();
  }

  @Test
  void severalKeysWithoutRefill_getExactlyTheSmallestBurst() {
    Limits throttle = Limits.create();
    throttle.set("a", Limit.ofRate(0, 60_000));
    throttle.set("b", Limit.ofRate(0, 50_000));
    throttle.set("c", Limit.ofRate(0, 70_000));
    long granted =
        sumOver(
            4,
            () -> {
              long count = 0;
              while (throttle.tryAcquire(List.of("c", "a", "b"))) {
                count++;
              }
              return count;
            });
    assertThat(granted).isEqualTo(50_000);
    assertThat(level(throttle, "a")).isEqualTo(10_000);
    assertThat(level(throttle, "b")).isZero();
    assertThat(level(throttle, "c")).isEqualTo(20_000);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void overlappingKeysInAnyOrder_someRefused_conserveEveryLevel(boolean rulesChange) {
    Limits throttle = Limits.create();
    for (int i = 0; i < KEYS; i++) {
      throttle.set("key" + i, Limit.ofRate(0, BURST));
    }
    throttle.set("empty", Limit.ofRate(0, 0));
    AtomicLongArray taken = new AtomicLongArray(KEYS);
    AtomicLong seeds = new AtomicLong();
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> changes =
        beside(
            () -> {
              while (rulesChange && !done.get()) {
                // Levels stay as they are: the lower burst is the one that all began with.
                for (int i = 0; i < KEYS; i++) {
                  throttle.set("key" + i, Limit.ofRate(0, 2 * BURST));
                  throttle.set("key" + i, Limit.ofRate(0, BURST));
                }
                throttle.set("other", Limit.ofRate(1, 1));
                throttle.remove("other");
                throttle.evictIdle();
              }
            });
    long refused =
        sumOver(
            4,
            () -> consumeAtRandom(throttle, new SplittableRandom(seeds.getAndIncrement()), taken));
    done.set(true);
    changes.join();
    assertThat(refused).as("requests with the empty key").isPositive();
    for (int i = 0; i < KEYS; i++) {
      assertThat(level(throttle, "key" + i)).isEqualTo((double) (BURST - taken.get(i)));
    }
  }

  private static long consumeAtRandom(
      Limits throttle, SplittableRandom random, AtomicLongArray taken) {
    long refused = 0;
    for (int i = 0; i < 30_000; i++) {
      List<Integer> chosen = new ArrayList<>();
      for (int n = 1 + random.nextInt(4); n > 0; n--) {
        chosen.add(random.nextInt(KEYS));
      }
      List<String> keys = new ArrayList<>(chosen.stream().map(k -> "key" + k).toList());
      boolean hopeless = random.nextInt(4) == 0;
      if (hopeless) {
        keys.add(random.nextInt(keys.size() + 1), "empty");
      }
      boolean granted = i % 3 == 0 ? throttle.decide(keys).isGranted() : throttle.tryAcquire(keys);
      assertThat(granted).isEqualTo(!hopeless);
      refused += granted ? 0 : 1;
      if (granted) {
        chosen.stream().distinct().forEach(taken::getAndIncrement);
      }
    }
    return refused;
  }

  @Test
  void twoKeysTakenTogether_areNeverSeenApart() {
    Limits throttle = Limits.create();
    throttle.set("a", Limit.ofRate(0, BURST));
    throttle.set("b", Limit.ofRate(0, BURST));
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> taker =
        beside(
            () -> {
              for (int i = 0; i < 200_000; i++) {
                throttle.tryAcquire(i % 2 == 0 ? List.of("a", "b") : List.of("b", "a"));
              }
              done.set(true);
            });
    while (!done.get()) {
      double a = level(throttle, "a");
      double b = level(throttle, "b");
      double aAgain = level(throttle, "a");
      assertThat(b).as("between %s and %s", a, aAgain).isBetween(aAgain, a);
    }
    taker.join();
  }

  @Test
  void shortEpochs_crossedByThreads_loseAndMintNothing() {
    // Never full, so that every token minted must be granted once; an epoch lasts about a second.
    AtomicLong clock = new AtomicLong();
    Limits throttle = Limits.builder().clock(clock::get).build();
    double burst = 3_000_000_000.0;
    throttle.set("a", Limit.ofRate(999_999_937, burst));
    throttle.set("b", Limit.ofRate(999_999_937, burst));
    throttle.set("idle", Limit.ofRate(999_999_937, burst));
    assertThat(throttle.tryAcquire(List.of("a", "b"), (long) burst)).isTrue();
    long granted =
        sumOver(
            4,
            () -> {
              long count = 0;
              for (int i = 0; i < 10_000; i++) {
                clock.addAndGet(50_000_000);
                while (throttle.tryAcquire(List.of("a", "b"), 1_000_003)) {
                  count += 1_000_003;
                }
              }
              return count;
            });
    long minted = clock.get() / 1_000_000_000 * 999_999_937;
    for (String key : List.of("a", "b")) {
      assertThat(granted + (long) level(throttle, key)).isEqualTo(minted);
    }
  }

  @Test
  void realClock_everyWindowHolds_whileBucketsAreEvicted() {
    Limit.Balanced limit = new Limit.Balanced(3, 100_000, Duration.ofSeconds(1));
    Limits throttle = Limits.create();
    throttle.set("t:*", Limit.ofRate(100_000, 3));
    long start = System.nanoTime();
    List<Grant> log = Collections.synchronizedList(new ArrayList<>());
    sumOver(
        4,
        () -> {
          List<Grant> mine = new ArrayList<>();
          long now = System.nanoTime();
          // On a busy machine a thread may hardly run in that time: each goes on until it was
          // granted some.
          for (int i = 0; now - start < 300_000_000 || mine.size() <= 25; i++) {
            now = System.nanoTime();
            boolean granted =
                i % 2 == 0
                    ? throttle.tryAcquire("t:1", 1, now)
                    : throttle.tryAcquire(List.of("t:2", "t:1"), 1, now);
            if (granted) {
              mine.add(new Grant(now, 1));
            }
            if (i % 64 == 0) {
              throttle.evictIdle();
            }
          }
          log.addAll(mine);
          return mine.size();
        });
    assertThat(log).hasSizeGreaterThan(100);
    Windows.assertBounded(log, limit);
  }

  @Test
  void templatesChangingUnderLoad_giveNoKeyATokenMore() {
    // Without refill a key must not gain by moving between rules, whoever finishes the move.
    Limits throttle = Limits.create();
    throttle.set("t:*", Limit.ofRate(0, 10_000));
    assertThat(throttle.tryAcquire("t:x:1")).isTrue();
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> changes =
        beside(
            () -> {
              while (!done.get()) {
                throttle.set("t:x:*", Limit.ofRate(0, 20_000));
                throttle.set("t:x:1", Limit.ofRate(0, 30_000));
                throttle.remove("t:x:*");
                throttle.remove("t:x:1");
                throttle.evictIdle();
              }
            });
    long granted =
        sumOver(
            3,
            () -> {
              long count = 0;
              for (int i = 0; i < 20_000; i++) {
                count += throttle.tryAcquire(List.of("t:2", "t:x:1")) ? 1 : 0;
                count += throttle.tryAcquire("t:x:1") ? 1 : 0;
              }
              return count;
            });
    done.set(true);
    changes.join();
    assertThat(granted).isEqualTo(9_999);
  }

  @Test
  void aDecision_findsAllKeysAtOneInstant() {
    // Key a is always as far behind as b or further, so b alone can never be the binding one.
    Limits throttle = Limits.builder().clock(ManualClock.create()).build();
    List<String> keys = new ArrayList<>(List.of("a"));
    for (int i = 0; i < 200; i++) {
      keys.add("full" + i);
    }
    keys.add("b");
    keys.forEach(key -> throttle.set(key, Limit.ofRate(1, BURST)));
    throttle.tryAcquire("a");
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> taker =
        beside(
            () -> {
              for (int i = 0; i < 300_000; i++) {
                throttle.tryAcquire("a");
                throttle.tryAcquire("b");
              }
              done.set(true);
            });
    while (!done.get()) {
      Decision decision = throttle.peek(keys, BURST);
      assertThat(((Decision.Denied) decision).limitName()).isEqualTo("a");
    }
    taker.join();
  }

  private static double level(Limits throttle, String key) {
    return throttle.stats(key).orElseThrow().level();
  }
}
