package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.RedisCluster;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One part of a cluster is away, the others go on. */
@Tag("long")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class PartOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static RedisCluster cluster;

  private final List<LimitsEvent> events = new CopyOnWriteArrayList<>();

  @BeforeAll
  static void start() {
    cluster = RedisCluster.start();
    for (int i = 0; i < 3; i++) {
      cluster.node(i).command("CONFIG", "SET", "cluster-require-full-coverage", "no");
    }
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static String url() {
    return "redis-cluster://"
        + String.join(
            ",", cluster.uris().stream().map(uri -> uri.replace("redis://", "")).toList());
  }

  /** A prefix that puts the bucket of a {@link FleetNode} elsewhere than the list of nodes. */
  private static String prefixOf(int number) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "part" + number + "-" + i + ":")
        .filter(
            prefix ->
                cluster.nodeOf(new KeySpace(prefix).bucket(FleetNode.BUCKET))
                    != cluster.nodeOf(new KeySpace(prefix).nodes()))
        .findFirst()
        .orElseThrow();
  }

  private static String key(String prefix, IntPredicate port) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "key:" + i)
        .filter(key -> port.test(cluster.nodeOf(new KeySpace(prefix).key(key)).port()))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void partThatDiedAndReturnsWithItsData_noWindowExceedsTheLimit(int count) {
    String prefix = prefixOf(count);
    Limit limit = new Limit.Balanced(400, 200, Duration.ofSeconds(1));
    List<FleetNode> nodes = new ArrayList<>();
    WindowLog log = new WindowLog();
    try {
      for (int i = 0; i < count; i++) {
        nodes.add(FleetNode.local(url(), prefix, limit));
      }
      FleetNode.awaitFleet(nodes);
      RedisServer victim = cluster.nodeOf(nodes.get(0).place());
      try (Load load = new Load(nodes, 4, log)) {
        Waiting.until("an empty bucket", PATIENCE, () -> log.size() > 450);
        victim.command("SAVE");
        victim.kill();
        Waiting.until("grants by share", PATIENCE, () -> load.granted(FleetNode.Judge.SHARE) > 500);
        victim.restart();
        cluster.awaitOk();
        Waiting.until("the return", PATIENCE, () -> nodes.stream().allMatch(this::isBack));
        long before = load.granted(FleetNode.Judge.REDIS);
        Waiting.until(
            "grants by Redis", PATIENCE, () -> load.granted(FleetNode.Judge.REDIS) > before + 400);
      }
    } finally {
      nodes.forEach(FleetNode::close);
    }
    assertThat(log.maxExcess(400, 200)).isLessThanOrEqualTo(0);
  }

  private boolean isBack(FleetNode node) {
    return node.events().stream().anyMatch(LimitsEvent.Returned.class::isInstance);
  }

  @Test
  void partThatIsSilent_keepsNobodyFromTheOthers() {
    String prefix = prefixOf(3);
    RedisServer fleetPart = cluster.nodeOf(new KeySpace(prefix).nodes());
    String dead = key(prefix, port -> port != fleetPart.port());
    RedisServer victim = cluster.nodeOf(new KeySpace(prefix).key(dead));
    String alive = key(prefix, port -> port != victim.port());
    try (SharedLimits node =
        SharedLimits.builder().url(url()).prefix(prefix).listener(events::add).open()) {
      SharedThrottle.Blocking throttle = node.throttle().blocking();
      throttle.setTemplate("key:*", 1_000, 1_000);
      assertThat(throttle.tryConsume(dead)).isTrue();
      victim.pause();
      try {
        Waiting.until("a grant by share", PATIENCE, () -> grantedByShare(node, throttle, dead));
        try (KeyLoad load = new KeyLoad(node.throttle(), 2, List.of(dead))) {
          fleetPart.pause();
          Waiting.until("the loss", PATIENCE, () -> !node.status().available());
          fleetPart.resume();
          Waiting.until("the return", PATIENCE, () -> node.status().available());
          long asked = load.rounds();
          Waiting.until("more calls", PATIENCE, () -> load.rounds() > asked + 100);
          assertThat(node.status().available()).isTrue();
        }
        long end = System.nanoTime() + Duration.ofSeconds(4).toNanos();
        long exact = node.status().exact();
        int calls = 0;
        while (System.nanoTime() - end < 0) {
          throttle.tryConsume(alive);
          calls++;
          Waiting.during(Duration.ofMillis(10));
        }
        // A busy machine may keep some answers waiting.
        assertThat(node.status().exact() - exact).as("in Redis").isGreaterThan(calls / 2);
        assertThat(events).noneMatch(LimitsEvent.Returned.class::isInstance);
        assertNobodyWaits(throttle, dead);
      } finally {
        fleetPart.resume();
        victim.resume();
      }
      Waiting.until(
          "the event",
          PATIENCE,
          () -> events.stream().anyMatch(LimitsEvent.Returned.class::isInstance));
      Waiting.until("Redis", PATIENCE, () -> !grantedByShare(node, throttle, dead));
    }
  }

  private static void assertNobodyWaits(SharedThrottle.Blocking throttle, String key) {
    long from = System.nanoTime();
    for (int i = 0; i < 50; i++) {
      throttle.tryConsume(key);
    }
    assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(Duration.ofSeconds(2));
  }

  private static boolean grantedByShare(
      SharedLimits node, SharedThrottle.Blocking throttle, String key) {
    long before = node.status().local();
    return throttle.tryConsume(key) && node.status().local() > before;
  }
}
