package dev.sluice.bench;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/**
 * What no script on this client can beat: the Redis calls of the exact one and an answer of the
 * same shape, without arithmetic and without checks. It grants always.
 */
final class CeilingLimiter implements SharedLimiter {
  private static final String SCRIPT =
      """
      local time = redis.call('TIME')
      local stored = redis.call('GET', KEYS[1])
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return {1, 99999999, 0, 1794800000000000, 0}
      """;

  /** As long as what the exact script keeps of such a limit. */
  private static final String STATE = "100 1794800000000000 0 100000000:1:100:1";

  private static final String TTL_MS = "1";

  private final RedisClient client;
  private final RedisAsyncCommands<String, String> commands;
  private final String digest;
  private final String name;

  CeilingLimiter(String url, long perSecond) {
    client = RedisClient.create(url);
    StatefulRedisConnection<String, String> connection = client.connect();
    digest = connection.sync().scriptLoad(SCRIPT);
    commands = connection.async();
    name = "ceiling:" + perSecond;
  }

  @Override
  public boolean tryConsume() throws ExecutionException, InterruptedException {
    return granted(ask(name).get());
  }

  @Override
  public CompletionStage<Boolean> tryConsumeAsync() {
    return ask(name).thenApply(CeilingLimiter::granted);
  }

  @Override
  public boolean tryConsume(String key) throws ExecutionException, InterruptedException {
    return granted(ask("ceiling:" + key).get());
  }

  private RedisFuture<List<Object>> ask(String key) {
    return commands.evalsha(digest, ScriptOutputType.MULTI, new String[] {key}, STATE, TTL_MS);
  }

  private static boolean granted(List<Object> answer) {
    return ((Long) answer.get(0)) == 1;
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
