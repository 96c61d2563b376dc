package dev.sluice.governor.redis;

import static dev.sluice.testkit.Await.during;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.testkit.load.BudgetFleet;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetRecord;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Three processes under load, while Redis, the network and the processes fail as a seed says, one
 * after the other and together: while Redis is away, a node may be cut off or killed, and stay so
 * when Redis is back, also without its data. Every fault here has a documented excess of 0, and no
 * call outlasts the timeout. Even seeds ask for six times what the budgets allow, so the queue is
 * never empty; odd ones for less, in bursts, so that shares save up, and tokens accrue again before
 * their grants are settled.
 *
 * <p>{@code -Dsluice.fault.runs=20} runs 20 seeds with stops of up to 20 seconds; {@code
 * -Dsluice.seed=S} runs that one.
 */
@Tag("any-jdk")
@Tag("alone")
final class FaultRunsTest {
  private static final int USUAL_RUNS = 2;
  private static final int RUNS = Integer.getInteger("sluice.fault.runs", USUAL_RUNS);
  private static final boolean LONG_RUN = RUNS > USUAL_RUNS;
  private static final int LONGEST_STOP_MILLIS = LONG_RUN ? 20_000 : 5_000;
  private static final int FAULTS = LONG_RUN ? 6 : 3;

  /** Close seeds of Random begin alike. */
  private static final long SPREAD = 0x9E3779B97F4A7C15L;

  private static final double OVERLOAD = 6.0 / FaultProcess.NODES;
  private static final double BURSTS = 0.8 / FaultProcess.NODES;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration PAUSE = Duration.ofMillis(20);

  /** The timeout of the nodes, and 50 ms. */
  private static final double MOST_MILLIS = 150;

  /** Beyond this a call was disturbed. */
  private static final double MOST_STANDSTILL_MILLIS = 50;

  /** Runnable threads a core, beyond which the machine is overloaded. */
  private static final double MOST_LOAD = 2;

  /** An unclaimed grant is returned after its idle timeout, and after an outage. */
  private static final Duration SOON = FaultProcess.IDLE_TIMEOUT.multipliedBy(3);

  @TempDir private Path dir;
  private final List<TcpProxy> proxies = new ArrayList<>();
  private final List<Integer> alive = new ArrayList<>();
  private double load;

  static LongStream seeds() {
    Long only = Long.getLong("sluice.seed");
    return only == null ? LongStream.range(0, RUNS) : LongStream.of(only);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void faults_inAnyOrder_neitherExceedABudget_norHoldASlot(long seed) throws Exception {
    Random random = new Random(seed * SPREAD);
    load = seed % 2 == 0 ? OVERLOAD : BURSTS;
    Path records = Files.createDirectory(dir.resolve("seed" + seed));
    try (RedisServer redis = RedisServer.builder().data().start();
        BudgetStore watcher = FaultProcess.open(redis.uri(), BudgetListener.NONE);
        BudgetFleet fleet = new BudgetFleet(records, FaultProcess.Timed.class, redis.uri())) {
      for (int i = 0; i < FaultProcess.NODES; i++) {
        TcpProxy proxy = TcpProxy.to(redis);
        proxies.add(proxy);
        alive.add(fleet.addFaulty(proxy.uri(), load));
      }
      fleet.go(0);
      during(Duration.ofSeconds(1));
      List<Fault> faults = new ArrayList<>(List.of(Fault.values()));
      Collections.shuffle(faults, random);
      for (Fault fault : faults.subList(0, FAULTS)) {
        System.out.printf("faults, seed %d: %s%n", seed, fault);
        if (ofRedis(fault) && random.nextBoolean()) {
          injectTwo(fault, random, redis, fleet);
        } else {
          inject(fault, random, redis, fleet);
        }
        during(millis(random, 100, 2_500));
      }
      injectTwo(
          seed % 2 == 0 ? Fault.REDIS_STOPPED : Fault.REDIS_LOSES_ITS_DATA, random, redis, fleet);
      during(millis(random, 100, 2_500));
      awaitGrants(watcher);
      check(seed, fleet.stop(), watcher);
    } finally {
      proxies.forEach(TcpProxy::close);
    }
  }

  private enum Fault {
    REDIS_STOPPED,
    REDIS_FLAPS,
    REDIS_KILLED,
    REDIS_LOSES_ITS_DATA,
    CONNECTIONS_CUT,
    NODE_CUT_OFF,
    NODE_SLOW,
    NODE_KILLED
  }

  /** A fault of a node, or of all, during a fault of Redis. */
  private enum Second {
    NODE_CUT_OFF,
    NODE_KILLED,
    CONNECTIONS_CUT
  }

  private static boolean ofRedis(Fault fault) {
    return switch (fault) {
      case REDIS_STOPPED, REDIS_FLAPS, REDIS_KILLED, REDIS_LOSES_ITS_DATA -> true;
      case CONNECTIONS_CUT, NODE_CUT_OFF, NODE_SLOW, NODE_KILLED -> false;
    };
  }

  /**
   * Injects a second fault that lasts as long as that of Redis. A killed node is replaced only
   * afterwards: the share of a node that starts without Redis is not reserved.
   */
  private void injectTwo(Fault fault, Random random, RedisServer redis, BudgetFleet fleet) {
    int index = random.nextInt(proxies.size());
    Second second = Second.values()[random.nextInt(Second.values().length)];
    Duration longer = millis(random, 100, 2_000);
    System.out.printf("faults: %s during %s%n", second, fault);
    failRedis(
        fault,
        random,
        redis,
        () -> {
          switch (second) {
            case NODE_CUT_OFF -> proxies.get(index).blackHole();
            case NODE_KILLED -> fleet.kill(alive.get(index));
            case CONNECTIONS_CUT -> proxies.forEach(TcpProxy::cut);
          }
        });
    during(longer);
    switch (second) {
      case NODE_CUT_OFF -> proxies.get(index).heal();
      case NODE_KILLED -> replace(index, fleet);
      case CONNECTIONS_CUT -> {
        // The nodes have returned by themselves.
      }
    }
  }

  /** Starts a node in the place of one that was killed. */
  private void replace(int index, BudgetFleet fleet) {
    alive.set(index, fleet.addFaulty(proxies.get(index).uri(), load));
    fleet.go(alive.get(index));
  }

  private static Duration millis(Random random, int least, int most) {
    return Duration.ofMillis(least + random.nextInt(most - least));
  }

  private void inject(Fault fault, Random random, RedisServer redis, BudgetFleet fleet) {
    int index = random.nextInt(proxies.size());
    TcpProxy proxy = proxies.get(index);
    switch (fault) {
      case REDIS_STOPPED, REDIS_FLAPS, REDIS_KILLED, REDIS_LOSES_ITS_DATA ->
          failRedis(fault, random, redis, () -> {});
      case CONNECTIONS_CUT -> proxies.forEach(TcpProxy::cut);
      case NODE_CUT_OFF -> {
        proxy.blackHole();
        during(millis(random, 500, LONG_RUN ? 9_000 : 4_000));
        proxy.heal();
      }
      case NODE_SLOW -> {
        proxy.delay(millis(random, 1, 120), millis(random, 1, 120));
        during(millis(random, 500, 3_000));
        proxy.heal();
      }
      case NODE_KILLED -> {
        fleet.kill(alive.get(index));
        replace(index, fleet);
      }
    }
  }

  /** Makes Redis fail, and runs {@code meanwhile} once during the fault. */
  private static void failRedis(Fault fault, Random random, RedisServer redis, Runnable meanwhile) {
    switch (fault) {
      case REDIS_FLAPS -> {
        for (int i = 0; i < 5; i++) {
          redis.pause();
          stayAway(random, millis(random, 200, 1_200), i == 2 ? meanwhile : () -> {});
          redis.resume();
          during(millis(random, 50, 600));
        }
      }
      case REDIS_KILLED -> {
        redis.kill();
        stayAway(random, millis(random, 1, LONGEST_STOP_MILLIS), meanwhile);
        redis.restart();
      }
      case REDIS_LOSES_ITS_DATA -> {
        redis.kill();
        stayAway(random, millis(random, 1, LONGEST_STOP_MILLIS), meanwhile);
        redis.restartEmpty();
      }
      default -> {
        redis.pause();
        stayAway(random, millis(random, 1_000, LONGEST_STOP_MILLIS), meanwhile);
        redis.resume();
      }
    }
  }

  private static void stayAway(Random random, Duration time, Runnable meanwhile) {
    Duration before = Duration.ofNanos((long) (time.toNanos() * random.nextDouble()));
    during(before);
    meanwhile.run();
    during(time.minus(before));
  }

  /** Waits until Redis grants again. */
  private static void awaitGrants(BudgetStore watcher) {
    for (String model : List.of(BudgetLoad.MIXED, BudgetLoad.PLAIN)) {
      long before = consumed(watcher, model);
      Awaitility.await(model)
          .atMost(LIMIT)
          .until(() -> consumed(watcher, model) > before + BudgetLoad.PER_SECOND);
    }
  }

  private static long consumed(BudgetStore watcher, String model) {
    return watcher.status().join().models().get(model).counts().tokensConsumed();
  }

  private static void check(long seed, BudgetRecord record, BudgetStore watcher) {
    System.out.printf(
        "faults, seed %d: %d grants, failed %s, ended %s, wrong %s%n",
        seed, record.grants(), record.failures(), record.ends(), record.wrongs());
    for (String model : List.of(BudgetLoad.MIXED, BudgetLoad.PLAIN)) {
      long excess = record.excess(model, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE);
      long audited = watcher.status().join().models().get(model).audit().errorTokens();
      System.out.printf(
          "faults, seed %d: %s excess %d, audited %d%n", seed, model, excess, audited);
      assertThat(excess).as("seed %d, %s", seed, model).isLessThanOrEqualTo(0);
      assertThat(audited).as("seed %d, audit of %s", seed, model).isZero();
    }
    assertThat(record.wrongs()).isEmpty();
    assertThat(record.keysWithSeveralGrants()).as("seed %d", seed).isEmpty();
    System.out.printf(
        "faults, seed %d: %d grants by shares, %d unsure%n",
        seed, record.grantsAlone(), record.unsure().size());
    assertThat(record.overtakenAlone()).as("seed %d", seed).isEmpty();
    assertThat(record.invertedAlone(BudgetLoad.PLAIN, "P2_batch", "P0_clinical"))
        .as("seed %d", seed)
        .isEmpty();
    assertThat(record.failures().keySet())
        .allMatch(failure -> failure.endsWith(" RedisUnavailableException"));
    if (seed % 2 == 0) {
      // Bursts below the limit rarely wait, so their median says nothing. Half as much again is for
      // machines with other work: at load 50, P0 once waited 360 ms and P1 318 ms.
      assertThat(record.waitMillis(BudgetLoad.PLAIN, "P0_clinical", 0.5))
          .isLessThanOrEqualTo(1.5 * record.waitMillis(BudgetLoad.PLAIN, "P1_user", 0.5));
    }
    checkLatency(seed, record);
    returnGrants(record.unsure(), watcher);
    // Unclaimed grants are returned by then, and no reservation ends by its lifetime.
    Awaitility.await("no slot is in use")
        .atMost(SOON)
        .untilAsserted(
            () ->
                assertThat(watcher.status().join().models().values())
                    .allSatisfy(FaultRunsTest::assertQuiet));
  }

  /**
   * No call takes longer than the timeout and 50 ms, less the time for which a watchdog in its
   * process did not run. A call in which that was more than 50 ms is not counted, nor is a machine
   * with twice as many runnable threads as cores: there, threads that work wait for much longer
   * than a watchdog that only sleeps.
   */
  private static void checkLatency(long seed, BudgetRecord record) {
    List<BudgetRecord.SlowCall> undisturbed =
        record.slowCalls().stream()
            .filter(call -> call.standstillMillis() <= MOST_STANDSTILL_MILLIS)
            .sorted(Comparator.comparingDouble(BudgetRecord.SlowCall::ownMillis).reversed())
            .toList();
    OperatingSystemMXBean machine = ManagementFactory.getOperatingSystemMXBean();
    double load = machine.getSystemLoadAverage() / machine.getAvailableProcessors();
    System.out.printf(
        "faults, seed %d: %d calls took long, %d of them undisturbed; load %.1f a core; slowest %s%n",
        seed,
        record.slowCalls().size(),
        undisturbed.size(),
        load,
        undisturbed.stream().limit(3).toList());
    if (load <= MOST_LOAD) {
      assertThat(undisturbed)
          .as("seed %d", seed)
          .isNotEmpty()
          .allSatisfy(call -> assertThat(call.ownMillis()).isLessThanOrEqualTo(MOST_MILLIS));
    }
  }

  /** Returns grants whose callers do not know of them. */
  static void returnGrants(List<TokenRequest> unsure, BudgetStore watcher) {
    for (TokenRequest request : unsure) {
      TokenDecision found = untilAnswered(() -> watcher.find(request)).orElse(null);
      if (found instanceof TokenDecision.Granted granted) {
        untilAnswered(() -> watcher.settle(granted.reservation(), granted.tokens()));
      } else if (found instanceof TokenDecision.Queued queued) {
        untilAnswered(() -> watcher.cancel(queued.ticket()));
      }
    }
  }

  /** Repeats a call in an outage of the watcher, or if Redis is slower than its timeout. */
  private static <T> T untilAnswered(Supplier<CompletableFuture<T>> call) {
    long end = System.nanoTime() + SOON.toNanos();
    while (true) {
      try {
        return call.get().join();
      } catch (CompletionException failure) {
        if (System.nanoTime() - end > 0
            || !(failure.getCause() instanceof RedisUnavailableException)) {
          throw failure;
        }
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }

  /** Checks that no slot is in use, and that no caller waits. */
  static void assertQuiet(GovernorStatus.Model status) {
    assertThat(status.running()).isZero();
    assertThat(status.queueLengths().values()).containsOnly(0);
  }
}
