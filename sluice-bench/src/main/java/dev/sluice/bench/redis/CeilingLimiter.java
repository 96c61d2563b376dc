package dev.sluice.bench.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/**
 * An upper bound for any script on this client: arguments, Redis calls and the shape of the reply
 * are those of the exact script, but nothing is computed or checked. It always grants.
 */
final class CeilingLimiter implements SharedLimiter {
  /** The arguments of the exact script: take, version of the rules, tokens, limit. */
  private static final String[] ARGUMENTS = {"take", "0", "1", "100000000:1:100:1"};

  /** As long as what the exact one keeps: seven numbers and the limit. */
  private static final String STATE = "-".repeat(7 * Double.BYTES) + ARGUMENTS[3];

  private static final String SCRIPT =
      """
      local time = redis.call('TIME')
      local stored = redis.call('GET', KEYS[1])
      redis.call('SET', KEYS[1], '%s', 'PX', '2')
      return {1, 99999999, 0, 1794800000000000, 0}
      """
          .formatted(STATE);

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
    return commands.evalsha(digest, ScriptOutputType.MULTI, new String[] {key}, ARGUMENTS);
  }

  private static boolean granted(List<Object> answer) {
    return ((Long) answer.get(0)) == 1;
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
