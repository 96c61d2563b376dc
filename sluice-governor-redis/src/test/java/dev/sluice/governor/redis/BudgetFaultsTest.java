package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetLog;
import dev.sluice.testkit.load.BudgetRecord;
import dev.sluice.testkit.redis.RedisCluster;
import dev.sluice.testkit.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes under ten times the load that their budgets allow, while Redis fails. */
@Tag("long")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BudgetFaultsTest {
  private static final int NODES = 3;
  private static final double OVERLOAD = 10;
  private static final Duration IDLE_TIMEOUT = FaultProcess.IDLE_TIMEOUT;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final BudgetConfig CONFIG =
      BudgetLoad.config(FaultProcess.RESERVATION_TIMEOUT, IDLE_TIMEOUT);

  @TempDir private Path dir;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final List<Path> files = new ArrayList<>();
  private final List<BudgetLoad> loads = new ArrayList<>();
  private final List<Away> aways = new ArrayList<>();

  /** Redis made no decisions between these microseconds. */
  private record Away(long from, long until) {
    double seconds() {
      return (until - from) / 1e6;
    }
  }

  @AfterEach
  void closeAll() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private BudgetStore open(String url, BudgetListener listener) {
    BudgetStore store =
        RedisBudgets.builder()
            .url(url)
            .timeout(Duration.ofMillis(500))
            .expectedNodes(NODES)
            .build()
            .open(CONFIG, listener);
    opened.push(store);
    awaitRedis(store);
    return store;
  }

  private static void awaitRedis(BudgetStore store) {
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> store.status().handle((status, failure) -> failure == null).join());
  }

  private void startLoads(String url, int nodes) {
    for (int i = 0; i < nodes; i++) {
      Path file = dir.resolve("node" + i);
      files.add(file);
      BudgetLog log = new BudgetLog(file);
      opened.push(log);
      // Calls may fail: every request has a key.
      BudgetLoad load = new BudgetLoad(open(url, log), log, "n" + i, OVERLOAD / nodes, 1);
      opened.push(load);
      loads.add(load);
    }
    loads.forEach(BudgetLoad::start);
  }

  private static long consumed(BudgetStore store, String model) {
    return store
        .status()
        .handle((status, failure) -> failure == null ? status.models().get(model) : null)
        .thenApply(status -> status == null ? -1 : status.counts().tokensConsumed())
        .join();
  }

  /** Waits until Redis has granted the tokens of one second. */
  private static void awaitGrants(BudgetStore watcher, String model) {
    awaitRedis(watcher);
    long before = consumed(watcher, model);
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> consumed(watcher, model) > before + BudgetLoad.PER_SECOND);
  }

  private static void awaitGrants(BudgetStore watcher) {
    awaitGrants(watcher, BudgetLoad.MIXED);
    awaitGrants(watcher, BudgetLoad.PLAIN);
  }

  @Test
  void redisKilledPausedAndEmptied_waitersAreGranted_withinTheBound() {
    try (RedisServer server = RedisServer.builder().data().start()) {
      BudgetStore watcher = open(server.uri(), BudgetListener.NONE);
      startLoads(server.uri(), NODES);
      awaitGrants(watcher);
      server.kill();
      away(server::restart, Duration.ofSeconds(1));
      awaitGrants(watcher);
      server.pause();
      away(server::resume, Duration.ofSeconds(2));
      awaitGrants(watcher);
      BudgetRecord record = BudgetRecord.read(files);
      assertThat(record.wrongs()).isEmpty();
      server.kill();
      away(server::restartEmpty, Duration.ofMillis(100));
      awaitGrants(watcher);
      loads.forEach(load -> load.stop(LIMIT));
      assertBounds();
      assertNoSlotIsInUse(watcher);
    }
  }

  /** Makes Redis unavailable for so long. */
  private void away(Runnable end, Duration time) {
    long from = System.currentTimeMillis();
    Await.during(time);
    long until = System.currentTimeMillis();
    end.run();
    aways.add(new Away(from * 1_000, until * 1_000));
  }

  private void assertBounds() {
    BudgetRecord record = BudgetRecord.read(files);
    System.out.printf(
        "faults: %d grants, failed %s, ended %s%n",
        record.grants(), record.failures(), record.ends());
    for (String model : List.of(BudgetLoad.MIXED, BudgetLoad.PLAIN)) {
      // Grants of nodes during an outage do not exceed the rate of that time.
      double more = 0;
      for (Away away : aways) {
        long alone = record.grantedTokens(model, away.from(), away.until());
        more += Math.min((double) alone, BudgetLoad.PER_SECOND * away.seconds());
      }
      long excess = record.excess(model, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE);
      System.out.printf(
          "faults %s: over_admission %d, %.0f granted without Redis%n",
          model, Math.max(0, excess), more);
      assertThat((double) excess).isLessThanOrEqualTo(more);
    }
    assertThat(record.failures().keySet())
        .allMatch(failure -> failure.endsWith(" RedisUnavailableException"));
  }

  private void assertNoSlotIsInUse(BudgetStore store) {
    BudgetRecord record = BudgetRecord.read(files);
    assertThat(record.keysWithSeveralGrants()).isEmpty();
    FaultRunsTest.returnGrants(record.unsure(), store);
    Awaitility.await()
        .atMost(IDLE_TIMEOUT.multipliedBy(3))
        .untilAsserted(
            () ->
                assertThat(store.status().join().models().values())
                    .allSatisfy(BudgetFaultsTest::assertQuiet));
  }

  private static void assertQuiet(GovernorStatus.Model status) {
    assertThat(status.running()).isZero();
    assertThat(status.queueLengths().values()).containsOnly(0);
  }

  @Test
  void cluster_hasModelsInDifferentSlots() {
    try (RedisCluster cluster = RedisCluster.start()) {
      String url = "redis-cluster://127.0.0.1:" + cluster.node(0).port();
      String mixed = ModelKeys.of("token-governor:", BudgetLoad.MIXED).all()[0];
      String plain = ModelKeys.of("token-governor:", BudgetLoad.PLAIN).all()[0];
      assertThat(cluster.nodeOf(mixed).port()).isNotEqualTo(cluster.nodeOf(plain).port());
      BudgetStore watcher = open(url, BudgetListener.NONE);
      startLoads(url, 2);
      awaitGrants(watcher);
      assertThat(cluster.nodeOf(mixed).command("EXISTS", mixed)).isEqualTo(1L);
      assertThat(cluster.nodeOf(plain).command("EXISTS", plain)).isEqualTo(1L);
      loads.forEach(load -> load.stop(LIMIT));
      assertBounds();
      assertNoSlotIsInUse(watcher);
    }
  }
}
