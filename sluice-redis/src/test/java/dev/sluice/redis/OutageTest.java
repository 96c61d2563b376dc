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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Redis dies under load and comes back: no call waits, the policy holds, the books agree. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class OutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long MOST_MILLIS = 150;
  private static final long CAPACITY = 50;
  private static final long RATE = 200;
  private static final Limit LIMIT = new Limit.Balanced(CAPACITY, RATE, Duration.ofSeconds(1));

  /** Large enough that it is never full while a test runs. */
  private static final Limit LARGE = new Limit.Balanced(1_000_000, 1_000, Duration.ofSeconds(1));

  @ParameterizedTest
  @EnumSource(OutageMode.class)
  void killed_underLoad_noCallIsSlowAndThePolicyHolds(OutageMode policy) {
    try (RedisServer server = RedisServer.builder().data().start();
        Hiccups hiccups = new Hiccups();
        FleetNode node = new FleetNode(SharedLimits.builder().url(server.uri()), LARGE, policy)) {
      WindowLog log = new WindowLog();
      // From here on the bucket is never full, so every token shows in its debt.
      FleetNode.Answer half = node.take(500_000);
      Load load = new Load(List.of(node), 4, log);
      try (load) {
        Await.during(Duration.ofMillis(400));
        server.kill();
        Await.until("the loss", PATIENCE, () -> !node.status().available());
        long grantsBefore = load.granted(FleetNode.Judge.REDIS);
        Await.until("decisions without Redis", PATIENCE, () -> withoutRedis(policy, load) > 100);
        assertPolicy(policy, load);
        server.restart();
        Await.until("the return", PATIENCE, () -> node.status().available());
        Await.until(
            "grants", PATIENCE, () -> load.granted(FleetNode.Judge.REDIS) > grantsBefore + 50);
      }
      Books books = Books.of(server, node);
      long expected = 500_000 + load.granted(FleetNode.Judge.REDIS);
      long difference = books.tokensTaken(half.latest()) - expected;
      System.out.printf(
          "outage %s: by Redis %d, by share %d, without looking %d, difference %d;"
              + " slowest call %d ms, less pauses %d ms, longest pause %d ms%n",
          policy,
          load.granted(FleetNode.Judge.REDIS),
          load.granted(FleetNode.Judge.SHARE),
          load.granted(FleetNode.Judge.POLICY),
          difference,
          load.slowestMillis(),
          load.slowestMillis(hiccups),
          hiccups.longestMillis());
      if (policy == OutageMode.LOCAL) {
        // Time has brought nothing to Redis while the node granted by itself.
        assertThat(difference).isGreaterThanOrEqualTo(load.granted(FleetNode.Judge.SHARE));
        assertThat(node.grantedByShare()).isEqualTo(load.granted(FleetNode.Judge.SHARE));
      } else {
        // Tokens that Redis took without an answer in time: at most one for each caller, each
        // time that it was late.
        assertThat(difference)
            .isBetween(0L, 4 * node.status().outages() + node.status().timeouts());
      }
      assertThat(load.slowestMillis(hiccups)).isLessThan(MOST_MILLIS);
    }
  }

  private static long withoutRedis(OutageMode policy, Load load) {
    return switch (policy) {
      case OPEN -> load.granted(FleetNode.Judge.POLICY);
      case CLOSED -> load.denied(FleetNode.Judge.POLICY);
      case LOCAL -> load.granted(FleetNode.Judge.SHARE);
    };
  }

  private static void assertPolicy(OutageMode policy, Load load) {
    long open = load.granted(FleetNode.Judge.POLICY);
    long share = load.granted(FleetNode.Judge.SHARE);
    switch (policy) {
      case OPEN -> {
        assertThat(open).isGreaterThan(100);
        assertThat(load.denied(FleetNode.Judge.POLICY)).isZero();
      }
      case CLOSED -> {
        assertThat(open + share).isZero();
        assertThat(load.denied(FleetNode.Judge.POLICY)).isGreaterThan(100);
      }
      case LOCAL -> {
        assertThat(open).isZero();
        assertThat(share).isGreaterThan(100);
      }
    }
  }

  /** Nodes that share a prefix, and what is asked of them. */
  private record Group(String name, List<FleetNode> nodes, WindowLog log, Load load) {
    static Group of(RedisServer server, String name, int size) {
      List<FleetNode> nodes = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        nodes.add(FleetNode.local(server.uri(), name + ":", LIMIT));
      }
      FleetNode.awaitFleet(nodes);
      WindowLog log = new WindowLog();
      return new Group(name, nodes, log, new Load(nodes, 2, log));
    }

    void close() {
      load.close();
      nodes.forEach(FleetNode::close);
    }

    boolean isLost() {
      return nodes.stream().noneMatch(node -> node.status().available());
    }

    boolean isBack() {
      return nodes.stream().allMatch(node -> node.status().available());
    }

    long assertWindows() {
      long excess = log.maxExcess(CAPACITY, RATE);
      long seconds = Math.max(1, (log.last() - log.first()) / 1_000);
      System.out.printf(
          "outages of %s: by Redis %d, by shares %d, %d %% of the limit, excess %d%n",
          name,
          load.granted(FleetNode.Judge.REDIS),
          load.granted(FleetNode.Judge.SHARE),
          log.size() * 100_000L / (CAPACITY * 1_000 + RATE * seconds),
          excess);
      return excess;
    }
  }

  @Test
  void killed_againAndAgain_noWindowHasMoreThanTheLimit() {
    try (RedisServer server = RedisServer.builder().data().start()) {
      Group one = Group.of(server, "one", 1);
      Group three = Group.of(server, "three", 3);
      // Not asked before the outage: its buckets are full when it begins.
      Group idle = Group.of(server, "idle", 3);
      List<Group> groups = List.of(one, three, idle);
      try {
        for (long outageMillis : new long[] {300, 2_500}) {
          idle.load().pause();
          Await.during(Duration.ofMillis(700));
          server.kill();
          idle.load().resume();
          Await.until("the loss", PATIENCE, () -> groups.stream().allMatch(Group::isLost));
          Await.during(Duration.ofMillis(outageMillis));
          server.restart();
          Await.until("the return", PATIENCE, () -> groups.stream().allMatch(Group::isBack));
          Await.during(Duration.ofMillis(700));
        }
        Await.during(Duration.ofMillis(1_500));
      } finally {
        groups.forEach(Group::close);
      }
      assertThat(one.assertWindows()).isLessThanOrEqualTo(0);
      assertThat(three.assertWindows()).isLessThanOrEqualTo(0);
      assertThat(idle.assertWindows()).isLessThanOrEqualTo(0);
      assertThat(three.load().granted(FleetNode.Judge.SHARE)).isPositive();
      assertThat(three.log().size()).isGreaterThan(500);
    }
  }

  @Test
  void returned_oneAfterTheOther_noWindowHasMoreThanTheLimit() {
    try (RedisServer server = RedisServer.builder().data().start();
        TcpProxy proxy = TcpProxy.to(server);
        FleetNode first = FleetNode.local(server.uri(), "two:", LIMIT);
        FleetNode second = FleetNode.local(proxy.uri(), "two:", LIMIT)) {
      List<FleetNode> both = List.of(first, second);
      FleetNode.awaitFleet(both);
      WindowLog log = new WindowLog();
      Load load = new Load(both, 2, log);
      try (load) {
        Await.during(Duration.ofMillis(500));
        proxy.refuse();
        server.kill();
        Await.until(
            "the loss", PATIENCE, () -> both.stream().noneMatch(node -> node.status().available()));
        Await.during(Duration.ofMillis(500));
        server.restart();
        Await.until("the first return", PATIENCE, () -> first.status().available());
        Await.during(Duration.ofMillis(500));
        proxy.heal();
        Await.until("the second return", PATIENCE, () -> second.status().available());
        Await.during(Duration.ofMillis(1_500));
      }
      long excess = log.maxExcess(CAPACITY, RATE);
      System.out.printf(
          "returned one after the other: by Redis %d, by shares %d, excess %d%n",
          load.granted(FleetNode.Judge.REDIS), load.granted(FleetNode.Judge.SHARE), excess);
      assertThat(excess).isLessThanOrEqualTo(0);
    }
  }
}
