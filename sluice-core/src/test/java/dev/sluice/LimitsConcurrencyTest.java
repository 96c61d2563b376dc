package dev.sluice;

import static dev.sluice.Costs.each;
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

/** Many threads, many keys: never a token too many, none lost, no thread stuck. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // who spins is not asked
final class LimitsConcurrencyTest {
  private static final int KEYS = 8;
  private static final long BURST = 1_000_000;

  @Test
  void aWriterWithAnOldReading_doesNotBackdateAFasterRate() {
    AtomicLong time = new AtomicLong();
    AtomicReference<Runnable> betweenReadingAndUse = new AtomicReference<>(() -> {});
    Limits limits =
        Limits.builder()
            .clock(
                () -> {
                  long reading = time.get();
                  betweenReadingAndUse.getAndSet(() -> {}).run();
                  return reading;
                })
            .build();
    limits.set("key", Limit.ofRate(1, 10));
    betweenReadingAndUse.set(
        () -> {
          time.set(5_000_000_000L);
          assertThat(limits.tryAcquire("key", 5)).isTrue();
        });
    limits.set("key", Limit.ofRate(1_000, 10));
    assertThat(level(limits, "key")).isEqualTo(5);
  }

  @Test
  void eightThreadsWithoutRefill_getExactlyTheBurst() {
    for (int round = 0; round < 10; round++) {
      Limits limits = Limits.create();
      limits.set("key", Limit.ofRate(0, 50_000));
      long granted =
          sumOver(
              8,
              () -> {
                long count = 0;
                while (limits.tryAcquire("key")) {
                  count++;
                }
                return count;
              });
      assertThat(granted).isEqualTo(50_000);
    }
  }

  @Test
  void restoredWhileItIsRemoved_beginsEmpty() {
    Limits limits = Limits.create();
    AtomicBoolean restoring = new AtomicBoolean(true);
    AtomicInteger turns = new AtomicInteger();
    long full =
        sumOver(
            2,
            () -> {
              long count = 0;
              if (turns.getAndIncrement() == 0) {
                for (int i = 0; i < 300_000; i++) {
                  limits.restore("key", Limit.ofRate(0, 10));
                  count += limits.stats("key").filter(all -> all.level() > 0).isPresent() ? 1 : 0;
                }
                restoring.set(false);
              } else {
                while (restoring.get()) {
                  limits.remove("key");
                }
              }
              return count;
            });
    assertThat(full).isZero();
  }

  @Test
  void severalKeysWithoutRefill_getExactlyTheSmallestBurst() {
    Limits limits = Limits.create();
    limits.set("a", Limit.ofRate(0, 60_000));
    limits.set("b", Limit.ofRate(0, 50_000));
    limits.set("c", Limit.ofRate(0, 70_000));
    long granted =
        sumOver(
            4,
            () -> {
              long count = 0;
              while (limits.tryAcquire(List.of("c", "a", "b"))) {
                count++;
              }
              return count;
            });
    assertThat(granted).isEqualTo(50_000);
    assertThat(level(limits, "a")).isEqualTo(10_000);
    assertThat(level(limits, "b")).isZero();
    assertThat(level(limits, "c")).isEqualTo(20_000);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void overlappingKeysInAnyOrder_someRefused_conserveEveryLevel(boolean rulesChange) {
    Limits limits = Limits.create();
    for (int i = 0; i < KEYS; i++) {
      limits.set("key" + i, Limit.ofRate(0, BURST));
    }
    limits.set("empty", Limit.ofRate(0, 0));
    AtomicLongArray taken = new AtomicLongArray(KEYS);
    AtomicLong seeds = new AtomicLong();
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> changes =
        beside(
            () -> {
              while (rulesChange && !done.get()) {
                // Levels stay as they are: the lower burst is the one that all began with.
                for (int i = 0; i < KEYS; i++) {
                  limits.set("key" + i, Limit.ofRate(0, 2 * BURST));
                  limits.set("key" + i, Limit.ofRate(0, BURST));
                }
                limits.set("other", Limit.ofRate(1, 1));
                limits.remove("other");
                limits.evictIdle();
              }
            });
    long refused =
        sumOver(
            4, () -> consumeAtRandom(limits, new SplittableRandom(seeds.getAndIncrement()), taken));
    done.set(true);
    changes.join();
    assertThat(refused).as("requests with the empty key").isPositive();
    for (int i = 0; i < KEYS; i++) {
      assertThat(level(limits, "key" + i)).isEqualTo((double) (BURST - taken.get(i)));
    }
  }

  private static long consumeAtRandom(
      Limits limits, SplittableRandom random, AtomicLongArray taken) {
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
      boolean granted =
          i % 3 == 0 ? limits.decide(each(keys, 1)).isGranted() : limits.tryAcquire(keys);
      assertThat(granted).isEqualTo(!hopeless);
      refused += granted ? 0 : 1;
      if (granted) {
        chosen.stream().distinct().forEach(taken::getAndIncrement);
      }
    }
    return refused;
  }

  @Test
  void tokensOfTwoKeys_areTakenAtOneInstant() {
    Limits limits = Limits.create();
    limits.set("a", Limit.ofRate(0, BURST));
    limits.set("b", Limit.ofRate(0, BURST));
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> taker =
        beside(
            () -> {
              for (int i = 0; i < 200_000; i++) {
                limits.tryAcquire(i % 2 == 0 ? List.of("a", "b") : List.of("b", "a"));
              }
              done.set(true);
            });
    while (!done.get()) {
      double a = level(limits, "a");
      double b = level(limits, "b");
      double aAgain = level(limits, "a");
      assertThat(b).as("between %s and %s", a, aAgain).isBetween(aAgain, a);
    }
    taker.join();
  }

  @Test
  void shortEpochs_crossedByThreads_loseAndMintNothing() {
    // Never full, so that every token minted must be granted once; an epoch lasts about a second.
    AtomicLong clock = new AtomicLong();
    Limits limits = Limits.builder().clock(clock::get).build();
    double burst = 3_000_000_000.0;
    limits.set("a", Limit.ofRate(999_999_937, burst));
    limits.set("b", Limit.ofRate(999_999_937, burst));
    limits.set("idle", Limit.ofRate(999_999_937, burst));
    assertThat(limits.tryAcquire(each(List.of("a", "b"), (long) burst))).isTrue();
    long granted =
        sumOver(
            4,
            () -> {
              long count = 0;
              for (int i = 0; i < 10_000; i++) {
                clock.addAndGet(50_000_000);
                while (limits.tryAcquire(each(List.of("a", "b"), 1_000_003))) {
                  count += 1_000_003;
                }
              }
              return count;
            });
    long minted = clock.get() / 1_000_000_000 * 999_999_937;
    for (String key : List.of("a", "b")) {
      assertThat(granted + (long) level(limits, key)).isEqualTo(minted);
    }
  }

  @Test
  void realClock_everyWindowHolds_whileBucketsAreEvicted() {
    Limit.Balanced limit = new Limit.Balanced(3, 100_000, Duration.ofSeconds(1));
    ReplaceableClock clock = new ReplaceableClock(NanoClock.system());
    Limits limits = Limits.builder().clock(clock).build();
    limits.set("t:*", Limit.ofRate(100_000, 3));
    List<String> both = List.of("t:2", "t:1");
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
            boolean one = i % 2 == 0;
            if (clock.at(now, () -> one ? limits.tryAcquire("t:1") : limits.tryAcquire(both))) {
              mine.add(new Grant(now, 1));
            }
            if (i % 64 == 0) {
              limits.evictIdle();
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
    // Without refill a key must not gain by moving between limits, on whichever thread the move
    // ends.
    Limits limits = Limits.create();
    limits.set("t:*", Limit.ofRate(0, 10_000));
    assertThat(limits.tryAcquire("t:x:1")).isTrue();
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> changes =
        beside(
            () -> {
              while (!done.get()) {
                limits.set("t:x:*", Limit.ofRate(0, 20_000));
                limits.set("t:x:1", Limit.ofRate(0, 30_000));
                limits.remove("t:x:*");
                limits.remove("t:x:1");
                limits.evictIdle();
              }
            });
    long granted =
        sumOver(
            3,
            () -> {
              long count = 0;
              for (int i = 0; i < 20_000; i++) {
                count += limits.tryAcquire(List.of("t:2", "t:x:1")) ? 1 : 0;
                count += limits.tryAcquire("t:x:1") ? 1 : 0;
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
    Limits limits = Limits.builder().clock(ManualClock.create()).build();
    List<String> keys = new ArrayList<>(List.of("a"));
    for (int i = 0; i < 200; i++) {
      keys.add("full" + i);
    }
    keys.add("b");
    keys.forEach(key -> limits.set(key, Limit.ofRate(1, BURST)));
    limits.tryAcquire("a");
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> taker =
        beside(
            () -> {
              for (int i = 0; i < 300_000; i++) {
                limits.tryAcquire("a");
                limits.tryAcquire("b");
              }
              done.set(true);
            });
    while (!done.get()) {
      Decision decision = limits.peek(each(keys, BURST));
      assertThat(((Decision.Denied) decision).limitName()).isEqualTo("a");
    }
    taker.join();
  }

  private static double level(Limits limits, String key) {
    return limits.stats(key).orElseThrow().level();
  }
}
