package dev.sluice.server;

import dev.sluice.testkit.redis.RedisServer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** Runs {@link LimitServiceTest} with limits in Redis. */
@Tag("any-jdk")
final class RedisLimitServiceTest extends LimitServiceTest {
  private static final AtomicInteger RUNS = new AtomicInteger();
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @Override
  ServerConfig config(ServerConfig defaults) {
    return defaults.withRedis(
        RedisConfig.at(redis.uri())
            .withTimeout(RedisLimitsTest.PATIENCE)
            .withPrefix("run" + RUNS.incrementAndGet() + ":"));
  }

  @BeforeEach
  void awaitRedis() {
    server.awaitRedis();
  }
}
