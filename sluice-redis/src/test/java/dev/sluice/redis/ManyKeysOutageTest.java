package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node that granted very many keys by itself returns once, and nobody waits for it. */
@Tag("any-jdk")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ManyKeysOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final RecordedOutages outages = new RecordedOutages();

  @Test
  void returned_whileManyKeysAreAskedFor_doesNotWaitForThemToEnd() {
    List<String> keys = IntStream.range(0, 50_000).mapToObj(i -> "t:" + i).toList();
    try (RedisServer server = RedisServer.start();
        SharedLimits node =
            SharedLimits.builder().url(server.uri()).outageListener(outages).build()) {
      SharedLimits throttle = node;
      throttle.blocking().set("t:*", new Limit.Rate(100_000, 100_000));
      server.kill();
      Await.until("the loss", PATIENCE, () -> !node.status().available());
      try (KeyLoad load = new KeyLoad(throttle, 2, keys)) {
        Await.until("all keys", PATIENCE, () -> load.rounds() > 1);
        server.restart();
        Await.until("the return", PATIENCE, () -> node.status().available());
        long exact = node.status().fromRedis();
        Await.until(
            "decisions in Redis", PATIENCE, () -> node.status().fromRedis() > exact + 1_000);
      }
      assertThat(node.status().outages()).as(outages::toString).isEqualTo(1);
    }
  }
}
