package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node that starts without Redis. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class StartWithoutRedisTest {
  /** Returns the tokens that were counted in the last minute of the clock of Redis. */
  private static final String COUNTED =
      """
      local now = tonumber(redis.call('TIME')[1])
      local sum = 0
      local all = redis.call('HGETALL', KEYS[1])
      for i = 1, #all, 2 do
        if string.match(all[i], '^u%d+$') then
          local second, tokens = struct.unpack('>dd', all[i + 1])
          if second > now - 60 and second <= now then
            sum = sum + tokens
          end
        end
      end
      return sum
      """;

  @Test
  void grantsOfTheShare_areCountedInTheSecondsOfRedis() {
    try (RedisServer redis = RedisServer.builder().data().start()) {
      redis.kill();
      ModelBudget budget = SeedBudget.budget(60_000, 1_000).build();
      try (OutageRig rig = OutageRig.local(redis.uri(), 1, config(budget))) {
        rig.awaitShare();
        rig.grantedSoon(10);
        redis.restart();
        rig.awaitReturned();
        String stateKey = ModelKeys.of("token-governor:", "sonnet").all()[0];
        assertThat(redis.command("EVAL", COUNTED, "1", stateKey)).isEqualTo(10L);
      }
    }
  }
}
