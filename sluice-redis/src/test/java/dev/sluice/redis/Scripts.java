package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.limits.LimitScript;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Runs the scripts as they are, without anything of ours in between: in the time of the server, or,
 * which is faster than a server on a false clock, behind lines that say which time it is.
 */
final class Scripts implements AutoCloseable {
  /** Keys live and expire in that time too. */
  private static final String IN_CHOSEN_TIME =
      """
      local server = redis
      local micros = tonumber(table.remove(ARGV))
      local millis = math.floor(micros / 1000)
      local redis = {call = function(command, key, value, px, ttl)
        if command == 'TIME' then
          return {math.floor(micros / 1000000), math.fmod(micros, 1000000)}
        elseif command == 'GET' then
          local stored = server.call('GET', key)
          local ends, content = string.match(stored or '', '^(%d+)|(.*)$')
          return ends and millis <= tonumber(ends) and content
        elseif command == 'SET' then
          local ends = px and string.format('%.0f', millis + ttl) or '99999999999999'
          return server.call('SET', key, ends .. '|' .. value)
        end
        assert(command == 'DEL')
        return server.call('DEL', key)
      end}
      """;

  /** A deadline that never passes, and no absences. */
  static final List<String> UNGUARDED = List.of("9007199254740992", "");

  private final RedisClient client;
  private final StatefulRedisConnection<String, String> connection;
  private final Map<LimitScript, String> digests = new EnumMap<>(LimitScript.class);
  private @Nullable Long chosenMicros;
  private List<String> guards = UNGUARDED;

  /** The request for one key. */
  record Item(String key, long tokens, ScriptLimit quota) {}

  private Scripts(RedisServer server, String before) {
    client = RedisClient.create(server.uri());
    connection = client.connect();
    for (LimitScript script : LimitScript.values()) {
      digests.put(script, connection.sync().scriptLoad(before + script.body()));
    }
  }

  static Scripts inServerTime(RedisServer server) {
    Scripts scripts = new Scripts(server, "");
    for (LimitScript script : LimitScript.values()) {
      assertThat(scripts.digests.get(script)).isEqualTo(script.digest());
    }
    return scripts;
  }

  static Scripts inChosenTime(RedisServer server, long micros) {
    Scripts scripts = new Scripts(server, IN_CHOSEN_TIME);
    scripts.chosenMicros = micros;
    return scripts;
  }

  long micros() {
    return Objects.requireNonNull(chosenMicros);
  }

  /** Lets chosen time pass; a negative amount sets the clock back. */
  void advance(long micros) {
    chosenMicros = micros() + micros;
  }

  /** Has members be absent from now on, with so much of every limit; as guard.lua has it. */
  void absent(double share) {
    String before = guards.get(1);
    String more = "%d:%d".formatted(micros(), Math.round(share * MembershipConfig.PARTS));
    guards = List.of(guards.get(0), before.isEmpty() ? more : before + " " + more);
  }

  /** Answers outcome, index or remaining, figure, time, version of newer rules. */
  List<Long> decide(String how, long version, List<Item> items) {
    List<String> arguments = new ArrayList<>(List.of(how, Long.toString(version)));
    for (Item item : items) {
      arguments.add(Long.toString(item.tokens));
      arguments.add(item.quota.params());
    }
    String[] keys = items.stream().map(Item::key).toArray(String[]::new);
    return run(LimitScript.DECIDE, keys, arguments);
  }

  /** Answers level, unit, microseconds to full, time, version of newer rules. */
  List<Long> adjust(String how, long version, String amount, String key, ScriptLimit quota) {
    List<String> arguments = new ArrayList<>(List.of(how, Long.toString(version), amount));
    arguments.add(quota.params());
    return run(LimitScript.ADJUST, new String[] {key}, arguments);
  }

  /** Answers what the script does to one key. */
  List<Long> run(LimitScript script, String key, String... arguments) {
    return run(script, new String[] {key}, new ArrayList<>(List.of(arguments)));
  }

  private List<Long> run(LimitScript script, String[] keys, List<String> arguments) {
    arguments.addAll(guards);
    if (chosenMicros != null) {
      arguments.add(chosenMicros.toString());
    }
    return connection
        .sync()
        .evalsha(
            digests.get(script), ScriptOutputType.MULTI, keys, arguments.toArray(String[]::new));
  }

  String get(String key) {
    return String.valueOf(connection.sync().get(key));
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown();
  }
}
