package dev.sluice.server;

import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import org.junit.jupiter.api.AutoClose;

/** Runs {@link GovernorServiceTest} with budgets in Redis. */
final class RedisGovernorServiceTest extends GovernorServiceTest {
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @Override
  GovernedServer started(long patienceMs) throws IOException {
    return GovernedServer.onEmpty(redis, dir, patienceMs);
  }
}
