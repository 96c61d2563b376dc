package dev.sluice.governor.redis;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.store.GovernorScript;
import dev.sluice.governor.redis.store.ModelKeys;
import dev.sluice.governor.redis.store.ModelScriptConfig;
import dev.sluice.governor.redis.store.ScriptResult;
import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** The scripts as they are, but for the time, which is what they are told. */
public final class TimedScripts {
  private static final List<String> KEYS = List.of(new ModelKeys("", "timed").all());
  private static final String NODE = "0123456789abcdef";
  private static final long GENERATION = 7;
  private static final String NEVER = "9007199254740991";
  private static final String TIME = "local time = redis.call('TIME')";
  private static final String MICROS = "time[1] * 1000000 + time[2]";

  private final RedisServer redis;
  private final String without;

  /** On that server, which has nothing else to do. */
  public TimedScripts(RedisServer redis) {
    this(redis, "");
  }

  /** The same without those words, to see what they are for. */
  TimedScripts(RedisServer redis, String without) {
    this.redis = redis;
    this.without = without;
  }

  /** Runs a script, named by its last part, with arguments; returns its reply. */
  public List<?> run(String name, long micros, List<String> arguments) {
    return run(NODE, name, micros, arguments);
  }

  /** The same while members are or were absent, as guard.lua has it. */
  List<?> runWith(String absences, String name, long micros, List<String> arguments) {
    return run(NODE, name, micros, arguments, absences);
  }

  /** Runs a script for a node, whose name has 16 letters; returns its reply. */
  List<?> run(String node, String name, long micros, List<String> arguments) {
    return run(node, name, micros, arguments, "");
  }

  private List<?> run(
      String node, String name, long micros, List<String> arguments, String absences) {
    String body = GovernorScript.valueOf(name.toUpperCase(Locale.ROOT)).body();
    if (!body.contains(TIME) || !body.contains(MICROS) || !body.contains(without)) {
      throw new IllegalStateException("a script is another one: " + body.substring(0, 200));
    }
    body = body.replace(without, "");
    List<String> words = new ArrayList<>();
    words.add("EVAL");
    words.add(body.replace(TIME, "").replace(MICROS, "tonumber(redis.call('GET', 'time'))"));
    words.add(Integer.toString(KEYS.size()));
    words.addAll(KEYS);
    words.add(node + GENERATION);
    words.addAll(arguments);
    words.add(NEVER);
    words.add(absences);
    redis.command("SET", "time", Long.toString(micros));
    List<?> said = (List<?>) Objects.requireNonNull(redis.command(words.toArray(String[]::new)));
    return ScriptResult.of(said, arguments.toArray(String[]::new)).result().parts();
  }

  /** Returns the arguments of a configuration. */
  public static List<String> configuration(
      String model, ModelBudget budget, WaitingListConfig rules) {
    return List.of(ModelScriptConfig.of(model, budget, rules).configure(false, true, GENERATION));
  }
}
