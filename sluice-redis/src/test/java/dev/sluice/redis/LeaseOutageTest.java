package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Blocks that a node held when it lost Redis. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LeaseOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Limit LIMIT = new Limit.Rate(100, 200);
  private static final TokenBlockConfig WHOLE =
      new TokenBlockConfig(Duration.ofMinutes(1), 1, Duration.ofMinutes(1), 0);

  private final SureGrants grants = new SureGrants();

  private boolean take(SharedTokenBucket.Blocking bucket) {
    long from = FleetNode.micros();
    boolean granted = bucket.tryAcquire();
    if (granted) {
      grants.record(from, FleetNode.micros(), 1);
    }
    return granted;
  }

  private void drain(SharedTokenBucket.Blocking bucket) {
    while (take(bucket)) {
      assertThat(grants.total()).isLessThan(10_000);
    }
  }

  @Test
  void block_fromBeforeTheLoss_isNotUsedAfterIt() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server);
        SharedLimits node = SharedLimits.connect(proxy.uri())) {
      SharedTokenBucket.Blocking bucket =
          node.bucket("b", LIMIT, SharedLimitOptions.defaults().withTokenBlocks(WHOLE)).blocking();
      FleetNode.awaitShare(node);
      assertThat(take(bucket)).isTrue();
      assertThat(take(bucket)).isTrue();
      assertThat(node.status().fromBlocks()).as("from a block").isPositive();
      proxy.refuse();
      proxy.cut();
      Await.until("the loss", PATIENCE, () -> !node.status().available());
      Await.until("a grant by share", PATIENCE, () -> node.status().local() > 0 || take(bucket));
      Await.during(Duration.ofSeconds(1));
      long before = grants.total();
      drain(bucket);
      assertThat(grants.total() - before).as("by share").isGreaterThan(50);
      proxy.heal();
      Await.until("the return", PATIENCE, () -> node.status().available());
      drain(bucket);
      drain(bucket);
      assertThat(grants.maxExcess(200, 100 / 1e6)).isLessThanOrEqualTo(0);
    }
  }
}
