package dev.sluice.server;

import dev.sluice.testkit.RedisServer;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** What {@link GovernorServiceTest} says holds with budgets in Redis, too. */
final class RedisGovernorServiceTest extends GovernorServiceTest {
  private static RedisServer redis;

  @BeforeAll
  static void startRedis() {
    redis = RedisServer.start();
  }

  @AfterAll
  static void stopRedis() {
    redis.close();
  }

  @Override
  GovernedServer started(long patienceMs) throws IOException {
    redis.command("FLUSHALL");
    return new GovernedServer(
        dir, patienceMs, ServerRedis.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE));
  }
}
