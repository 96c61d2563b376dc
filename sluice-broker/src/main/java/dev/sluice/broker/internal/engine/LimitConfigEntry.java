package dev.sluice.broker.internal.engine;

import dev.sluice.FairScheduler;
import dev.sluice.Limit;
import dev.sluice.broker.internal.util.Checks;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.jspecify.annotations.Nullable;

/** A limit as a config entry: {@code throttle.<name>} = {@code "<tokens per second>,<burst>"}. */
public record LimitConfigEntry(double perSecond, double burst) {
  static final String PREFIX = "throttle.";

  /** A double prints as many decimal digits as it was made of; rounds down for the provider. */
  private static final MathContext EXACT_DIGITS = new MathContext(15, RoundingMode.DOWN);

  public LimitConfigEntry {
    requireFinite("perSecond", perSecond);
    requireFinite("burst", burst);
  }

  /**
   * Returns the entry of a limit.
   *
   * @throws IllegalArgumentException if it refills otherwise than evenly
   */
  public static LimitConfigEntry of(Limit limit) {
    if (limit instanceof Limit.Rate rate) {
      return new LimitConfigEntry(rate.perSecond(), rate.burst());
    }
    if (limit instanceof Limit.Balanced balanced) {
      return new LimitConfigEntry(perSecond(balanced), balanced.capacity());
    }
    if (limit instanceof Limit.DenyAll) {
      return new LimitConfigEntry(0, 0);
    }
    throw new IllegalArgumentException(
        "a limit of queues must be Rate, Balanced or DenyAll, but was " + limit);
  }

  private static double perSecond(Limit.Balanced limit) {
    BigDecimal seconds = BigDecimal.valueOf(limit.refillPeriod().toNanos(), 9);
    return BigDecimal.valueOf(limit.refillTokens()).divide(seconds, EXACT_DIGITS).doubleValue();
  }

  private static void requireFinite(String name, double value) {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          name + " must be finite and not negative, but was " + value);
    }
  }

  /** Returns the name of the limit that {@code configKey} sets; null if it sets none. */
  public static @Nullable String throttleKey(String configKey) {
    return configKey.startsWith(PREFIX) ? configKey.substring(PREFIX.length()) : null;
  }

  public static String configKey(String throttleKey) {
    return PREFIX + throttleKey;
  }

  /**
   * Checks a config entry.
   *
   * @throws IllegalArgumentException if the key cannot be a part of URLs, or the value is no limit
   *     where it must be one
   */
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
      // Reported below, with the rule.
    }
    throw new IllegalArgumentException(
        "a limit must be \"<tokens per second>,<burst>\", but was \"" + value + "\"");
  }

  /** Checks that a token bucket can have this limit. */
  private void requireExact() {
    FairScheduler.create().setLimit("checked", Limit.ofRate(perSecond, burst));
  }

  public String format() {
    return perSecond + "," + burst;
  }
}
