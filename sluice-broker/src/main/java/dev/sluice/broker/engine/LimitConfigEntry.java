package dev.sluice.broker.engine;

import dev.sluice.FairScheduler;
import dev.sluice.broker.store.Checks;
import org.jspecify.annotations.Nullable;

/**
 * The rate of a throttle key as the configuration has it: {@code throttle.<key>} = {@code "<per
 * second>,<burst>"}.
 */
public record LimitConfigEntry(double perSecond, double burst) {
  static final String PREFIX = "throttle.";

  public LimitConfigEntry {
    requireFinite("perSecond", perSecond);
    requireFinite("burst", burst);
  }

  private static void requireFinite(String name, double value) {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          name + " must be finite and not negative: " + name + "=" + value);
    }
  }

  /** The throttle key whose rate {@code configKey} gives; null if it gives none. */
  public static @Nullable String throttleKey(String configKey) {
    return configKey.startsWith(PREFIX) ? configKey.substring(PREFIX.length()) : null;
  }

  public static String configKey(String throttleKey) {
    return PREFIX + throttleKey;
  }

  /** Refuses what the configuration must not have, be it a rate or not. */
  public static void requireConfig(String configKey, String value) {
    String throttleKey = throttleKey(configKey);
    if (throttleKey == null) {
      Checks.requireInPaths("key", configKey);
    } else {
      Checks.requireInPaths("throttle key", throttleKey);
      parse(value).requireExact();
    }
  }

  static LimitConfigEntry parse(String value) {
    String[] parts = value.split(",", -1);
    try {
      if (parts.length == 2) {
        return new LimitConfigEntry(
            Double.parseDouble(parts[0].trim()), Double.parseDouble(parts[1].trim()));
      }
    } catch (NumberFormatException notNumbers) {
      // Told below, with the rule.
    }
    throw new IllegalArgumentException(
        "a rate must be \"<tokens per second>,<burst>\": value=\"" + value + "\"");
  }

  /** Refuses what no bucket can be made of, before it is stored. */
  private void requireExact() {
    FairScheduler.create().setRate("checked", perSecond, burst, 0);
  }

  public String format() {
    return perSecond + "," + burst;
  }
}
