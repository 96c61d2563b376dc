package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.CostChecks;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisCluster;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Limits in a cluster of three nodes. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ClusterLimitsTest {
  private RedisCluster cluster;
  private SharedLimits limits;

  @BeforeAll
  void start() {
    cluster = RedisCluster.start();
    limits = open(SharedLimitOptions.defaults());
  }

  private SharedLimits open(SharedLimitOptions options) {
    SharedLimits node =
        SharedLimits.builder().url(url()).timeout(Duration.ofSeconds(20)).options(options).build();
    Await.until("the cluster", Duration.ofSeconds(20), () -> node.status().available());
    return node;
  }

  private String url() {
    return cluster.uris().stream()
        .map(uri -> uri.substring("redis://".length()))
        .collect(Collectors.joining(",", "redis-cluster://", ""));
  }

  @AfterAll
  void stop() {
    limits.close();
    cluster.close();
  }

  private double left(String key) {
    return limits.blocking().stats(key).orElseThrow().level();
  }

  @Test
  void keys_overAllNodes_eachHaveTheirLimit() {
    SharedLimitsStatus before = limits.status();
    SharedLimits.Blocking throttle = limits.blocking();
    throttle.set("spread:*", new Limit.Rate(0, 3));
    for (int i = 0; i < 60; i++) {
      String key = "spread:" + i;
      assertThat(throttle.tryAcquire(key)).isTrue();
      assertThat(throttle.tryAcquire(key)).isTrue();
      assertThat(throttle.tryAcquire(key)).isTrue();
      assertThat(throttle.tryAcquire(key)).as(key).isFalse();
    }
    for (int node = 0; node < 3; node++) {
      assertThat((Long) cluster.node(node).command("DBSIZE")).isPositive();
    }
    assertThat(limits.status().outages()).isEqualTo(before.outages());
    assertThat(limits.status().local()).isEqualTo(before.local());
  }

  @Test
  void keys_ofOneHashTag_areTakenTogether() {
    SharedLimits.Blocking throttle = limits.blocking();
    throttle.set("{acme}:a", new Limit.Rate(0, 5));
    throttle.set("{acme}:b", new Limit.Rate(0, 2));
    List<String> both = List.of("{acme}:a", "{acme}:b");
    assertThat(throttle.tryAcquire(both)).isTrue();
    assertThat(throttle.tryAcquire(both)).isTrue();
    assertThat(throttle.decide(CostChecks.oneOfEach(both)))
        .isEqualTo(new Decision.Depleted("{acme}:b", 1));
    assertThat(left("{acme}:a")).isEqualTo(3);
  }

  @Test
  void keys_ofSeveralSlots_areRefusedUnlessAskedFor() {
    SharedLimits.Blocking throttle = limits.blocking();
    throttle.set("many", new Limit.Rate(0, 5));
    throttle.set("few", new Limit.Rate(0, 2));
    assertThat(cluster.slot("sluice:2:k:many")).isNotEqualTo(cluster.slot("sluice:2:k:few"));
    List<String> both = List.of("many", "few");
    assertThatThrownBy(() -> throttle.decide(CostChecks.oneOfEach(both)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("hash tag")
        .hasMessageContaining("many")
        .hasMessageContaining("withCrossSlotRequests");
    assertThat(left("many")).isEqualTo(5);

    try (SharedLimits node = open(SharedLimitOptions.defaults().withCrossSlotRequests())) {
      SharedLimits.Blocking across = node.blocking();
      assertThat(across.tryAcquire(both)).isTrue();
      assertThat(across.tryAcquire(both)).isTrue();
      assertThat(across.decide(CostChecks.oneOfEach(both)))
          .isEqualTo(new Decision.Depleted("few", 1));
    }
    assertThat(left("many")).isEqualTo(3);
    assertThat(left("few")).isZero();
  }

  @Test
  void node_isDead_theOthersGoOn() {
    for (int i = 0; i < 3; i++) {
      cluster.node(i).command("CONFIG", "SET", "cluster-require-full-coverage", "no");
    }
    int fleetPort = cluster.nodeOf("part:2:{fleet}:members").port();
    // Long enough for a busy machine: an answer that comes too late is decided by the share.
    Duration timeout = Duration.ofSeconds(2);
    try (SharedLimits node =
        SharedLimits.builder().url(url()).prefix("part:").timeout(timeout).build()) {
      SharedLimits.Blocking throttle = node.blocking();
      throttle.set("key:*", new Limit.Rate(1_000, 1_000));
      String dead = keyWhere(port -> port != fleetPort);
      int deadPort = cluster.nodeOf("part:2:k:" + dead).port();
      String alive = keyWhere(port -> port != deadPort);
      assertThat(throttle.tryAcquire(dead)).isTrue();
      RedisServer victim = cluster.nodeOf("part:2:k:" + dead);
      victim.pause();
      try {
        assertThat(throttle.tryAcquire(dead)).isFalse();
        for (int i = 0; i < 200; i++) {
          assertThat(throttle.tryAcquire(alive)).isTrue();
        }
        assertThat(node.status().available()).isTrue();
        assertThat(node.status().outages()).isZero();
      } finally {
        victim.resume();
      }
      Await.until("the return", Duration.ofSeconds(30), () -> throttle.tryAcquire(dead));
      assertThat(node.status().outages()).isZero();
      assertThat(node.status().local()).isZero();
    }
  }

  private String keyWhere(IntPredicate port) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "key:" + i)
        .filter(key -> port.test(cluster.nodeOf("part:2:k:" + key).port()))
        .findFirst()
        .orElseThrow();
  }
}
