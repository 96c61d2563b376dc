package dev.sluice.server;

import dev.sluice.testkit.redis.RedisServer;
import org.junit.jupiter.api.AutoClose;

/** Runs {@link ReservationAccessTest} with budgets in Redis. */
final class RedisReservationAccessTest extends ReservationAccessTest {
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @Override
  ServerConfig configured(ServerConfig config) {
    redis.command("FLUSHALL");
    return config.withRedis(RedisConfig.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE));
  }
}
