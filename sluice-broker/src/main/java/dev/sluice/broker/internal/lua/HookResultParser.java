package dev.sluice.broker.internal.lua;

import dev.sluice.Placement;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookEngine.Retry;
import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.util.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;

/**
 * Reads what scripts return, without running any of their code.
 *
 * <p>Nothing at all means the default. A field that makes no sense counts as missing; a key that is
 * too long, or an answer that is no table, is an error of the script.
 */
final class HookResultParser {
  /** More would make every look at a waiting message dearer; those past it are ignored. */
  static final int MAX_THROTTLE_KEYS = 16;

  static final int MAX_KEY_BYTES = Checks.MAX_KEY_BYTES;
  static final long MAX_DELAY_MILLIS = TimeUnit.DAYS.toMillis(7);

  private static final LuaString FAIRNESS_KEY = LuaStrings.of("fairness_key");
  private static final LuaString WEIGHT = LuaStrings.of("weight");
  private static final LuaString THROTTLE_KEYS = LuaStrings.of("throttle_keys");
  private static final LuaString ACTION = LuaStrings.of("action");
  private static final LuaString DELAY_MS = LuaStrings.of("delay_ms");
  private static final LuaString DLQ = LuaStrings.of("dlq");

  private HookResultParser() {}

  static HookEngine.EnqueueResult assignment(LuaValue answer) {
    if (answer.isnil()) {
      return HookEngine.EnqueueResult.DEFAULT;
    }
    LuaTable table = table(answer);
    String fairnessKey = key(table.rawget(FAIRNESS_KEY));
    return new HookEngine.EnqueueResult(
        fairnessKey == null ? HookEngine.EnqueueResult.DEFAULT.fairnessKey() : fairnessKey,
        weight(table.rawget(WEIGHT)),
        throttleKeys(table.rawget(THROTTLE_KEYS)));
  }

  static HookEngine.FailureResult verdict(LuaValue answer) {
    if (answer.isnil()) {
      return Retry.AT_ONCE;
    }
    LuaTable table = table(answer);
    if (table.rawget(ACTION).raweq(DLQ)) {
      return new HookEngine.MoveToDeadLetters();
    }
    return new Retry(delayMillis(table.rawget(DELAY_MS)));
  }

  private static LuaTable table(LuaValue answer) {
    if (answer instanceof LuaTable table) {
      return table;
    }
    throw new HookException("the hook must return a table, not a " + answer.typename());
  }

  private static @Nullable String key(LuaValue value) {
    if (!value.isstring()) {
      return null;
    }
    LuaString text = LuaArguments.coerce(value);
    if (text.m_length > MAX_KEY_BYTES) {
      throw new HookException(
          "a key must be at most " + MAX_KEY_BYTES + " bytes long, but was " + text.m_length);
    }
    return text.m_length == 0 ? null : LuaStrings.toJava(text);
  }

  private static int weight(LuaValue value) {
    double weight = value.isnumber() ? value.todouble() : 1;
    if (weight >= Placement.MAX_WEIGHT) {
      return Placement.MAX_WEIGHT;
    }
    return weight >= 1 && weight == Math.rint(weight) ? (int) weight : 1;
  }

  private static List<String> throttleKeys(LuaValue value) {
    if (!(value instanceof LuaTable table)) {
      return List.of();
    }
    List<String> keys = new ArrayList<>(2);
    for (int i = 1; i <= MAX_THROTTLE_KEYS; i++) {
      String key = key(table.rawget(i));
      if (key == null) {
        break;
      }
      keys.add(key);
    }
    return List.copyOf(keys);
  }

  private static long delayMillis(LuaValue value) {
    double delay = value.isnumber() ? value.todouble() : 0;
    return (long) Math.max(0, Math.min(delay, (double) MAX_DELAY_MILLIS));
  }
}
