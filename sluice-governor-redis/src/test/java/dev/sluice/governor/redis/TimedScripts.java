package dev.sluice.governor.redis;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.internal.store.GovernorScript;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.redis.internal.store.ModelScriptConfig;
import dev.sluice.governor.redis.internal.store.ScriptResult;
import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** The scripts of production with a time that the test sets. */
public final class TimedScripts {
  private static final List<String> KEYS = List.of(new ModelKeys("", "timed").all());
  private static final String NODE = "0123456789abcdef";
  private static final long GENERATION = 7;
  private static final String NEVER = "9007199254740991";
  private static final String TIME = "local time = redis.call('TIME')";
  private static final String MICROS = "time[1] * 1000000 + time[2]";

  private final RedisServer redis;
  private final String without;

  /** Runs scripts on a server that is used for nothing else. */
  public TimedScripts(RedisServer redis) {
    this(redis, "");
  }

  /** Runs scripts without a part of their text, to test that the part is needed. */
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
      throw new IllegalStateException("a script has changed: " + body.substring(0, 200));
    }
    body = body.replace(without, "");
    List<String> command = new ArrayList<>();
    command.add("EVAL");
    command.add(body.replace(TIME, "").replace(MICROS, "tonumber(redis.call('GET', 'time'))"));
    command.add(Integer.toString(KEYS.size()));
    command.addAll(KEYS);
    command.add(node + GENERATION);
    command.addAll(arguments);
    command.add(NEVER);
    command.add(absences);
    redis.command("SET", "time", Long.toString(micros));
    List<?> reply = (List<?>) Objects.requireNonNull(redis.command(command.toArray(String[]::new)));
    return ScriptResult.of(reply, arguments.toArray(String[]::new)).result().parts();
  }

  /** Returns the arguments of a configuration. */
  public static List<String> configuration(
      String model, ModelBudget budget, WaitingListConfig waitingList) {
    return List.of(
        ModelScriptConfig.of(model, budget, waitingList).configure(false, true, GENERATION));
  }
}
