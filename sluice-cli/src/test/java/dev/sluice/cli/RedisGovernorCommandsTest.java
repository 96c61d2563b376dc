package dev.sluice.cli;

import dev.sluice.server.RedisConfig;
import dev.sluice.testkit.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** Runs {@link GovernorCommandsTest} with budgets in Redis. */
final class RedisGovernorCommandsTest extends GovernorCommandsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @Override
  CliServer started(Path data, Path file) throws Exception {
    redis.command("FLUSHALL");
    return CliServer.governed(data, file, RedisConfig.at(redis.uri()).withTimeout(PATIENCE));
  }
}
