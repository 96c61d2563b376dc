package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisCluster;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One part of a cluster is away, the others go on. */
@Tag("long")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class PartOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static RedisCluster cluster;

  private final RecordedOutages outages = new RecordedOutages();

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
                cluster.nodeOf(new RedisKeys(prefix).bucket(FleetNode.BUCKET))
                    != cluster.nodeOf(new RedisKeys(prefix).members()))
        .findFirst()
        .orElseThrow();
  }

  private static String key(String prefix, IntPredicate port) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "key:" + i)
        .filter(key -> port.test(cluster.nodeOf(new RedisKeys(prefix).key(key)).port()))
        .findFirst()
        .orElseThrow();
  }

  /** Keys of the lost part are denied, and the others go on; nothing is granted twice. */
  @Test
  void silentPart_doesNotBlockTheOthers() {
    String prefix = prefixOf(3);
    RedisServer fleetPart = cluster.nodeOf(new RedisKeys(prefix).members());
    String dead = key(prefix, port -> port != fleetPart.port());
    RedisServer victim = cluster.nodeOf(new RedisKeys(prefix).key(dead));
    String alive = key(prefix, port -> port != victim.port());
    try (SharedLimits node =
        SharedLimits.builder().url(url()).prefix(prefix).outageListener(outages).build()) {
      SharedLimits.Blocking throttle = node.blocking();
      throttle.set("key:*", new Limit.Rate(1_000, 1_000));
      assertThat(throttle.tryAcquire(dead)).isTrue();
      victim.pause();
      try {
        long end = System.nanoTime() + Duration.ofSeconds(4).toNanos();
        long exact = node.status().fromRedis();
        int calls = 0;
        while (System.nanoTime() - end < 0) {
          assertThat(throttle.tryAcquire(dead)).as(() -> node.status() + " " + outages).isFalse();
          throttle.tryAcquire(alive);
          calls++;
        }
        // A busy machine may keep some answers waiting.
        assertThat(node.status().fromRedis() - exact).as("in Redis").isGreaterThan(calls / 2);
        assertThat(outages.events()).isEmpty();
      } finally {
        victim.resume();
      }
      Await.until("Redis", PATIENCE, () -> throttle.tryAcquire(dead));
      assertThat(node.status().local()).isZero();
    }
  }
}
