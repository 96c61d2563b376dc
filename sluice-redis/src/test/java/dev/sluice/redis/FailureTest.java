package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.Hiccups;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis stalls, restarts or loses its data; the way to it is slow, is cut, or splits the fleet. */
@Tag("any-jdk")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FailureTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long MOST_MILLIS = 150;
  private static final long CAPACITY = 50;
  private static final long RATE = 200;
  private static final Limit LIMIT = new Limit.Balanced(CAPACITY, RATE, Duration.ofSeconds(1));

  private final WindowLog log = new WindowLog();

  private static void awaitReturn(FleetNode node) {
    Await.until("the return", PATIENCE, () -> node.status().available());
  }

  private static void awaitLoss(FleetNode node) {
    Await.until("the loss", PATIENCE, () -> !node.status().available());
  }

  private static void awaitGrants(Load load) {
    long before = load.granted(FleetNode.Judge.REDIS);
    Await.until(
        "grants of Redis", PATIENCE, () -> load.granted(FleetNode.Judge.REDIS) > before + 100);
  }

  @Test
  void paused_forTwoSeconds_noCallIsSlowAndNoWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        Hiccups hiccups = new Hiccups();
        FleetNode node = FleetNode.local(server.uri(), "p:", LIMIT)) {
      Load load = new Load(List.of(node), 3, log);
      try (load) {
        awaitGrants(load);
        server.pause();
        awaitLoss(node);
        Await.until("grants", PATIENCE, () -> load.granted(FleetNode.Judge.SHARE) > 2 * RATE);
        server.resume();
        awaitReturn(node);
        awaitGrants(load);
      }
      report("paused", load, hiccups);
      assertThat(load.granted(FleetNode.Judge.SHARE)).isGreaterThan(RATE);
      assertThat(log.maxExcess(CAPACITY, RATE)).isLessThanOrEqualTo(0);
      assertThat(load.slowestMillis(hiccups)).isLessThan(MOST_MILLIS);
    }
  }

  private void report(String what, Load load, Hiccups hiccups) {
    System.out.printf(
        "%s: by Redis %d, by share %d, excess %d; slowest call %d ms, less pauses %d ms%n",
        what,
        load.granted(FleetNode.Judge.REDIS),
        load.granted(FleetNode.Judge.SHARE),
        log.maxExcess(CAPACITY, RATE),
        load.slowestMillis(),
        load.slowestMillis(hiccups));
  }

  @Test
  void restarted_withItsData_noWindowHasMore() {
    try (RedisServer server = RedisServer.builder().data().start();
        Hiccups hiccups = new Hiccups();
        FleetNode node = FleetNode.local(server.uri(), "d:", LIMIT)) {
      Load load = new Load(List.of(node), 2, log);
      try (load) {
        for (int i = 0; i < 3; i++) {
          awaitGrants(load);
          server.restart();
          awaitReturn(node);
        }
        awaitGrants(load);
      }
      report("restarted with data", load, hiccups);
      assertThat(log.maxExcess(CAPACITY, RATE)).isLessThanOrEqualTo(0);
    }
  }

  @Test
  void restarted_empty_noWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        Hiccups hiccups = new Hiccups();
        FleetNode node = FleetNode.local(server.uri(), "e:", LIMIT)) {
      Load load = new Load(List.of(node), 2, log);
      try (load) {
        awaitGrants(load);
        server.restartEmpty();
        awaitReturn(node);
        awaitGrants(load);
      }
      report("restarted empty", load, hiccups);
      assertThat(log.maxExcess(CAPACITY, RATE)).isLessThanOrEqualTo(0);
    }
  }

  /** Redis forgets the members while one of them grants its share by itself. */
  @Test
  void restarted_empty_whileANodeIsCutOff_noWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server);
        FleetNode alone = FleetNode.local(proxy.uri(), "f:", LIMIT);
        FleetNode other = FleetNode.local(server.uri(), "f:", LIMIT)) {
      List<FleetNode> nodes = List.of(alone, other);
      FleetNode.awaitFleet(nodes);
      Load load = new Load(nodes, 2, log);
      try (load) {
        awaitGrants(load);
        proxy.blackHole();
        awaitShare(alone, 1);
        server.restartEmpty();
        awaitReturn(other);
        long before = load.granted(FleetNode.Judge.SHARE);
        Await.until(
            "grants by share",
            PATIENCE,
            () -> load.granted(FleetNode.Judge.SHARE) > before + 2 * RATE);
        proxy.heal();
        proxy.cut();
        awaitReturn(alone);
        awaitGrants(load);
      }
      long excess = log.maxExcess(CAPACITY, RATE);
      System.out.printf(
          "restarted empty, one cut off: by Redis %d, by share %d, excess %d%n",
          load.granted(FleetNode.Judge.REDIS), load.granted(FleetNode.Judge.SHARE), excess);
      assertThat(excess).isLessThanOrEqualTo(0);
    }
  }

  @Test
  void delayed_byFiftyMillis_redisDecides() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server);
        FleetNode node = FleetNode.patient(proxy.uri(), "l:", LIMIT)) {
      proxy.delay(Duration.ofMillis(50), Duration.ZERO);
      for (int i = 0; i < 10; i++) {
        assertThat(node.take().judge()).isEqualTo(FleetNode.Judge.REDIS);
      }
      assertThat(node.status().outages()).isZero();
    }
  }

  /** To connect and to tell Redis of the scripts takes longer than the three seconds of a start. */
  @Test
  void delayed_atTheStart_isNoOutageWithinTheTimeout() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server)) {
      proxy.delay(Duration.ofMillis(700), Duration.ZERO);
      try (FleetNode node = FleetNode.patient(proxy.uri(), "b:", LIMIT)) {
        // A busy machine may let it count as absent for a moment: it returns, without an outage.
        Await.until("Redis decides", () -> node.status().available());
        proxy.heal();
        assertThat(node.take().judge()).isEqualTo(FleetNode.Judge.REDIS);
        assertThat(node.events()).isEmpty();
      }
    }
  }

  @Test
  void delayed_beyondTheTimeout_oneCallerIsEnoughToNotice() {
    // Answers come, all of them late: they must not pass for a sign of life.
    for (long delay : new long[] {130, 250, 300}) {
      try (RedisServer server = RedisServer.start();
          TcpProxy proxy = TcpProxy.to(server);
          FleetNode node = FleetNode.local(proxy.uri(), "s:", LIMIT)) {
        proxy.delay(Duration.ofMillis(delay), Duration.ZERO);
        Await.until(
            "the loss",
            PATIENCE,
            () -> {
              node.take();
              return !node.status().available();
            });
        awaitShare(node, 1);
        proxy.heal();
        awaitReturn(node);
        assertThat(node.status().timeouts()).isPositive();
      }
    }
  }

  @Test
  void cut_againAndAgain_noCallIsSlowAndNoWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server);
        Hiccups hiccups = new Hiccups();
        FleetNode node = FleetNode.local(proxy.uri(), "c:", LIMIT)) {
      Load load = new Load(List.of(node), 4, log);
      try (load) {
        for (int i = 0; i < 15; i++) {
          Await.during(Duration.ofMillis(i * 13L));
          proxy.cut();
        }
        awaitReturn(node);
        awaitGrants(load);
      }
      report("cut", load, hiccups);
      assertThat(log.maxExcess(CAPACITY, RATE)).isLessThanOrEqualTo(0);
      assertThat(load.slowestMillis(hiccups)).isLessThan(MOST_MILLIS);
    }
  }

  @Test
  void split_oneOfThreeNodesIsCutOff_noWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server)) {
      List<FleetNode> nodes = new ArrayList<>();
      nodes.add(FleetNode.local(proxy.uri(), "n:", LIMIT));
      nodes.add(FleetNode.local(server.uri(), "n:", LIMIT));
      nodes.add(FleetNode.local(server.uri(), "n:", LIMIT));
      FleetNode.awaitFleet(nodes);
      FleetNode alone = nodes.get(0);
      Load load = new Load(nodes, 1, log);
      try (load) {
        awaitGrants(load);
        proxy.blackHole();
        awaitLoss(alone);
        Await.until(
            "grants by share", PATIENCE, () -> load.granted(FleetNode.Judge.SHARE) > RATE / 3);
        proxy.heal();
        proxy.cut();
        awaitReturn(alone);
        awaitGrants(load);
      } finally {
        nodes.forEach(FleetNode::close);
      }
      long excess = log.maxExcess(CAPACITY, RATE);
      System.out.printf(
          "split: by Redis %d, by share %d, excess %d%n",
          load.granted(FleetNode.Judge.REDIS), load.granted(FleetNode.Judge.SHARE), excess);
      assertThat(load.granted(FleetNode.Judge.SHARE)).isPositive();
      assertThat(excess).isLessThanOrEqualTo(0);
    }
  }

  private static void awaitShare(FleetNode node, int grants) {
    AtomicInteger left = new AtomicInteger(grants);
    Await.until(
        "grants by share",
        PATIENCE,
        () -> {
          FleetNode.Answer answer = node.take();
          boolean counts = answer.granted() && answer.judge() == FleetNode.Judge.SHARE;
          return (counts ? left.decrementAndGet() : left.get()) == 0;
        });
  }

  @Test
  void open_whileRedisIsAway_goesOverWhenItComes() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      long start = System.nanoTime();
      try (FleetNode node = FleetNode.local(server.uri(), "w:", LIMIT)) {
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(PATIENCE);
        Await.until("the event", PATIENCE, () -> !node.events().isEmpty());
        assertThat(node.events().get(0).toString()).contains("Connection refused");
        awaitShare(node, 5);
        server.restart();
        awaitReturn(node);
        assertThat(node.take().judge()).isEqualTo(FleetNode.Judge.REDIS);
        Await.until("the event", PATIENCE, () -> node.events().size() == 2);
        assertThat(node.grantedByShare()).isEqualTo(5);
      }
    }
  }

  @Test
  void open_whileRedisIsAway_nodesDivideTheLimitAmongTheExpectedOnes() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      try (FleetNode one = expectingTwo(server.uri());
          FleetNode other = expectingTwo(server.uri())) {
        List<FleetNode> nodes = List.of(one, other);
        Load load = new Load(nodes, 1, log);
        try (load) {
          Await.until(
              "grants by share",
              PATIENCE,
              () -> load.granted(FleetNode.Judge.SHARE) > CAPACITY + RATE);
          server.restart();
          nodes.forEach(FailureTest::awaitReturn);
          awaitGrants(load);
        }
        assertThat(log.maxExcess(CAPACITY, RATE)).isLessThanOrEqualTo(0);
      }
    }
  }

  @Test
  void keyThatIsEvicted_bringsAtMostOneCapacity() {
    try (RedisServer server = RedisServer.start();
        FleetNode node = FleetNode.patient(server.uri(), "v:", LIMIT)) {
      Load load = new Load(List.of(node), 2, log);
      try (load) {
        awaitGrants(load);
        assertThat(server.command("DEL", "v:2:b:" + FleetNode.BUCKET)).isEqualTo(1L);
        awaitGrants(load);
      }
      assertThat(log.maxExcess(CAPACITY, RATE)).isBetween(1L, CAPACITY);
    }
  }

  private static FleetNode expectingTwo(String url) {
    return new FleetNode(
        SharedLimits.builder().url(url).prefix("x:").expectedNodes(2), LIMIT, OutageMode.LOCAL);
  }
}
