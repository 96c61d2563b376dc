package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Leases of two nodes on one Redis. */
@Tag("any-jdk")
class LeasedLimitsTest {
  private static final SharedLimitOptions LEASED =
      SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED).withTokenBlocks();

  /** Blocks that nobody returns while a test looks at them. */
  private static final SharedLimitOptions LONG_LEASED =
      LEASED.withTokenBlocks(
          new TokenBlockConfig(Duration.ofMinutes(1), 0.05, Duration.ofMillis(100), 0.2));

  /** A block in the value of a bucket. */
  private static final Pattern ENTRY = Pattern.compile(" \\w+\\.\\d+:\\d+:\\d+");

  private static final AtomicInteger NAMES = new AtomicInteger();

  private static RedisServer redis;
  private static SharedLimits one;
  private static SharedLimits other;

  private final String name = "bucket" + NAMES.incrementAndGet();

  @BeforeAll
  static void start() {
    redis = RedisServer.start();
    one = open(redis.uri());
    other = open(redis.uri());
  }

  @AfterAll
  static void stop() {
    one.close();
    other.close();
    redis.close();
  }

  /**
   * With time enough for a busy machine; without a share, whose absence would keep others from
   * leases.
   */
  private static SharedLimits open(String uri) {
    return open(uri, SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED));
  }

  private static SharedLimits open(String uri, SharedLimitOptions options) {
    return SharedLimits.builder().url(uri).options(options).timeout(Duration.ofSeconds(2)).build();
  }

  private SharedTokenBucket.Blocking at(SharedLimits node, Limit limit) {
    return node.bucket(name, limit, LEASED).blocking();
  }

  private SharedTokenBucket.Blocking longAt(SharedLimits node, Limit limit) {
    return node.bucket(name, limit, LONG_LEASED).blocking();
  }

  /** Blocks that Redis lists. */
  private long blocks() {
    String stored = String.valueOf(redis.command("GET", "sluice:2:b:" + name));
    return ENTRY.matcher(stored).results().count();
  }

  private static long nanos(Duration duration) {
    return duration.toNanos();
  }

  /** Several threads do the same until time is over. */
  /** Returns the grants of the first round that has enough: a busy machine may need up to three. */
  private static long grantsOfARound(SureGrants grants, long enough, Runnable round) {
    long most = 0;
    for (int i = 0; i < 3 && most < enough; i++) {
      long before = grants.total();
      round.run();
      most = Math.max(most, grants.total() - before);
    }
    return most;
  }

  private static void hammer(int threads, Duration length, Runnable... work) {
    CountDownLatch ready = new CountDownLatch(threads * work.length);
    AtomicReference<Throwable> failed = new AtomicReference<>();
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < threads * work.length; i++) {
      Runnable step = work[i % work.length];
      Thread thread =
          new Thread(
              () -> {
                try {
                  ready.countDown();
                  ready.await();
                  long start = System.nanoTime();
                  while (System.nanoTime() - start < nanos(length)) {
                    step.run();
                  }
                } catch (InterruptedException | RuntimeException failure) {
                  failed.set(failure);
                }
              });
      thread.start();
      all.add(thread);
    }
    all.forEach(LeasedLimitsTest::join);
    assertThat(failed.get()).isNull();
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  private static Runnable logging(SureGrants grants, BooleanSupplier consume) {
    return () -> {
      long from = micros();
      if (consume.getAsBoolean()) {
        grants.record(from, micros(), 1);
      }
    };
  }

  /** Redis has the same clock. */
  private static long micros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  @Test
  void decide_afterTheFirst_isMadeHere() {
    SharedTokenBucket.Blocking bucket = longAt(one, new Limit.Manual(1_000));
    long exact = one.status().fromRedis();
    long leased = one.status().fromBlocks();
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Granted(49));
    assertThat(bucket.decide(2)).isEqualTo(new Decision.Granted(47));
    assertThat(bucket.tryAcquire()).isTrue();
    assertThat(bucket.tryAcquire(0)).isTrue();
    assertThat(one.status().fromBlocks() - leased).isEqualTo(2);
    assertThat(one.status().fromRedis() - exact).isEqualTo(1);
    assertThat(bucket.available()).isEqualTo(950);
    assertThat(bucket.peek(950).isGranted()).isTrue();
    assertThat(bucket.peek(951)).isInstanceOf(Decision.Depleted.class);
    assertThat(bucket.decide(1_001)).isEqualTo(new Decision.Impossible("", 1_000));
  }

  @Test
  void consume_byManyThreads_rarelyAsksRedis() throws InterruptedException {
    SharedTokenBucket.Blocking bucket = at(one, Limit.perSecond(10_000_000));
    long exact = one.status().fromRedis();
    long leased = one.status().fromBlocks();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int call = 0; call < 5_000; call++) {
                  bucket.tryAcquire();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(one.status().fromRedis() - exact).isLessThan(2_000);
    assertThat(one.status().fromBlocks() - leased).isGreaterThan(78_000);
  }

  @Test
  void consume_byTwoNodesAtTheLimit_isExactInEveryWindow_andUsesAllOfIt() {
    Limit limit = new Limit.Balanced(500, 500, Duration.ofSeconds(1));
    Duration length = Duration.ofSeconds(3);
    SureGrants grants = new SureGrants();
    SharedTokenBucket.Blocking here = at(one, limit);
    SharedTokenBucket.Blocking there = at(other, limit);
    long leased = one.status().fromBlocks();
    Runnable[] work = {logging(grants, here::tryAcquire), logging(grants, there::tryAcquire)};
    long enough = (long) (0.9 * 500 * length.toSeconds());
    long most = grantsOfARound(grants, enough, () -> hammer(2, length, work));
    assertThat(grants.maxExcess(500, 500 / 1e6)).isLessThanOrEqualTo(0);
    assertThat(most).isGreaterThanOrEqualTo(enough);
    assertThat(one.status().fromBlocks()).isGreaterThan(leased);
  }

  @Test
  void burst_whileBlocksWereOut_isExactInEveryWindow() {
    Limit limit = new Limit.Balanced(400, 400, Duration.ofSeconds(1));
    TokenBlockConfig large =
        new TokenBlockConfig(Duration.ofSeconds(5), 0.3, Duration.ofSeconds(1), 0.1);
    SureGrants grants = new SureGrants();
    SharedTokenBucket.Blocking here =
        one.bucket(name, limit, LEASED.withTokenBlocks(large)).blocking();
    SharedTokenBucket.Blocking there =
        other.bucket(name, limit, LEASED.withTokenBlocks(large)).blocking();
    Runnable useHere = logging(grants, here::tryAcquire);
    Runnable useThere = logging(grants, there::tryAcquire);
    for (int round = 0; round < 2; round++) {
      // Both hold a block and touch it now and then, for longer than the rest takes to fill.
      long start = System.nanoTime();
      await()
          .pollInterval(Duration.ofMillis(20))
          .until(
              () -> {
                useHere.run();
                useThere.run();
                return System.nanoTime() - start > nanos(Duration.ofMillis(1_200)) && blocks() >= 2;
              });
      hammer(2, Duration.ofMillis(150), useHere, useThere);
    }
    assertThat(grants.maxExcess(400, 400 / 1e6)).isLessThanOrEqualTo(0);
    assertThat(grants.total()).isGreaterThan(500);
  }

  @Test
  void strict_byTwoNodes_isExactInEveryPeriod() {
    Limit limit = new Limit.Strict(100, Duration.ofMillis(200));
    SureGrants grants = new SureGrants();
    SharedTokenBucket.Blocking here = at(one, limit);
    SharedTokenBucket.Blocking there = at(other, limit);
    long leased = one.status().fromBlocks() + other.status().fromBlocks();
    Runnable[] work = {logging(grants, here::tryAcquire), logging(grants, there::tryAcquire)};
    long most = grantsOfARound(grants, 600, () -> hammer(1, Duration.ofMillis(1_500), work));
    assertThat(grants.mostInPeriod(200_000)).isLessThanOrEqualTo(100);
    assertThat(most).isBetween(600L, 900L);
    assertThat(one.status().fromBlocks() + other.status().fromBlocks()).isGreaterThan(leased);
  }

  @Test
  void manual_isUsedUpExactly_andInRedisBelowTheReserve() {
    Limit limit = new Limit.Manual(100);
    TokenBlockConfig half =
        new TokenBlockConfig(Duration.ofSeconds(2), 0.2, Duration.ofSeconds(1), 0.5);
    SharedTokenBucket.Blocking bucket =
        one.bucket(name, limit, LEASED.withTokenBlocks(half)).blocking();
    long leased = one.status().fromBlocks();
    for (int i = 0; i < 100; i++) {
      assertThat(bucket.tryAcquire()).isTrue();
    }
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Depleted("", 1));
    assertThat(one.status().fromBlocks() - leased).isBetween(30L, 50L);
    await().untilAsserted(() -> assertThat(blocks()).isZero());
    bucket.replenish(10);
    for (int i = 0; i < 10; i++) {
      assertThat(bucket.tryAcquire()).isTrue();
    }
    assertThat(bucket.tryAcquire()).isFalse();
    assertThat(blocks()).isZero();
  }

  @Test
  void idleBlock_goesBack() {
    SharedTokenBucket.Blocking bucket = at(one, new Limit.Manual(1_000));
    assertThat(bucket.tryAcquire()).isTrue();
    assertThat(bucket.available()).isEqualTo(950);
    await().untilAsserted(() -> assertThat(bucket.available()).isEqualTo(999));
  }

  @Test
  void close_returnsBlocksAtOnce() {
    Limit limit = new Limit.Manual(1_000);
    SharedTokenBucket.Blocking watching = at(other, limit);
    try (SharedLimits third = open(redis.uri())) {
      assertThat(longAt(third, limit).tryAcquire()).isTrue();
      assertThat(watching.available()).isEqualTo(950);
    }
    assertThat(watching.available()).isEqualTo(999);
  }

  @Test
  void deadNode_losesItsBlock_untilTimeBringsItAgain() {
    Limit limit = new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1));
    SharedTokenBucket.Blocking watching = at(other, limit);
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits dead = open(proxy.uri())) {
      long sent = System.nanoTime();
      assertThat(at(dead, limit).tryAcquire()).isTrue();
      proxy.refuse();
      proxy.cut();
      await()
          .pollInterval(Duration.ofMillis(10))
          .untilAsserted(() -> assertThat(watching.available()).isGreaterThan(950));
      assertThat(System.nanoTime() - sent)
          .isGreaterThanOrEqualTo(nanos(TokenBlockConfig.DEFAULTS.lifetime()));
      await().untilAsserted(() -> assertThat(watching.available()).isEqualTo(1_000));
    }
  }

  @Test
  void lostAnswer_costsTokensUntilItsTimeIsOver() {
    Limit limit = new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1));
    SharedTokenBucket.Blocking watching = at(other, limit);
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits deaf =
            SharedLimits.builder()
                .url(proxy.uri())
                .options(SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED))
                .timeout(Duration.ofMillis(100))
                .build()) {
      long sent = System.nanoTime();
      proxy.delay(Duration.ZERO, Duration.ofSeconds(20));
      assertThat(at(deaf, limit).tryAcquire()).isFalse();
      assertThat(watching.available()).isEqualTo(950);
      assertThat(deaf.status().fromBlocks()).isZero();
      await().untilAsserted(() -> assertThat(watching.available()).isEqualTo(1_000));
      assertThat(System.nanoTime() - sent)
          .isGreaterThanOrEqualTo(nanos(TokenBlockConfig.DEFAULTS.lifetime()));
    }
  }

  @Test
  void outage_blockIsLeftAlone_thePolicyDecides() {
    Limit limit = new Limit.Manual(1_000_000);
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits node = open(proxy.uri())) {
      SharedTokenBucket.Blocking bucket = node.bucket(name, limit, LEASED).blocking();
      assertThat(bucket.tryAcquire()).isTrue();
      assertThat(bucket.tryAcquire()).isTrue();
      long leased = node.status().fromBlocks();
      proxy.refuse();
      proxy.cut();
      await().until(() -> !node.status().available());
      assertThat(bucket.tryAcquire()).isFalse();
      assertThat(node.status().fromBlocks()).isEqualTo(leased);
      assertThat(node.status().closed()).isPositive();
    }
  }

  @Test
  void reconfigure_withBlocksOut_keepsTheNewLimit() {
    SharedTokenBucket.Blocking here = at(one, new Limit.Manual(1_000));
    SharedTokenBucket.Blocking there = at(other, new Limit.Manual(1_000));
    assertThat(here.tryAcquire()).isTrue();
    assertThat(there.tryAcquire()).isTrue();
    assertThat(here.available()).isEqualTo(900);
    here.reconfigure(new Limit.Manual(100));
    assertThat(here.available()).as("all of it is out").isZero();
    await().untilAsserted(() -> assertThat(blocks()).isZero());
    await().until(() -> there.peek(101) instanceof Decision.Impossible);
    // Usage under the old limit counts if the new limit was read before the blocks were returned.
    assertThat(here.available()).isBetween(98L, 100L);
    int granted = 0;
    while (here.tryAcquire() || there.tryAcquire()) {
      granted++;
    }
    assertThat(granted).isBetween(90, 100);
  }

  @Test
  void reconfigure_nextCall_returnsTheBlockOfTheOldLimit() {
    SharedTokenBucket.Blocking bucket = longAt(one, new Limit.Manual(1_000));
    assertThat(bucket.tryAcquire()).isTrue();
    bucket.reconfigure(new Limit.Manual(2_000));
    // Blocks are of 100 now; of the one before 49 tokens came back with the request.
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Granted(99));
    assertThat(bucket.available()).isEqualTo(899);
  }

  @Test
  void throttle_oneKey_isLeased_severalAreNot() {
    try (SharedLimits node = open(redis.uri(), LONG_LEASED)) {
      SharedLimits.Blocking throttle = node.blocking();
      throttle.set(name, new Limit.Rate(0, 1_000));
      throttle.set(name + "b", new Limit.Rate(0, 1_000));
      long leased = node.status().fromBlocks();
      assertThat(throttle.tryAcquire(name)).isTrue();
      for (int i = 0; i < 20; i++) {
        assertThat(throttle.tryAcquire(name)).isTrue();
        assertThat(throttle.decide(name, 1).isGranted()).isTrue();
      }
      assertThat(node.status().fromBlocks() - leased).isEqualTo(40);
      assertThat(throttle.tryAcquire(List.of(name, name + "b"))).isTrue();
      assertThat(node.status().fromBlocks() - leased).isEqualTo(40);
      assertThat(throttle.tryAcquire("unknown")).isTrue();
      throttle.remove(name);
      assertThat(throttle.tryAcquire(name)).isTrue();
      assertThat(node.status().fromBlocks() - leased).isEqualTo(40);
    }
  }

  @Test
  void blocksOfTheFleet_areListedInRedis() {
    at(one, new Limit.Manual(1_000)).tryAcquire();
    at(other, new Limit.Manual(1_000)).tryAcquire();
    assertThat(blocks()).isEqualTo(2);
    assertThat(Objects.requireNonNull(redis.command("PTTL", "sluice:2:b:" + name))).isEqualTo(-1L);
    await()
        .atMost(TokenBlockConfig.DEFAULTS.lifetime().toMillis(), TimeUnit.MILLISECONDS)
        .untilAsserted(() -> assertThat(blocks()).isZero());
  }
}
