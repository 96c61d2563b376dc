package dev.sluice;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;

/**
 * A throttle written the plain way: a level per key in unbounded integers, never evicted.
 *
 * <p>Levels are in millionths of a millionth of a token, of which a rate of r thousandths of a
 * token a second brings r a nanosecond; bursts are in tenths of a token. Single-threaded; time must
 * not run backwards.
 */
final class LimitsModel {
  static final BigInteger TOKEN = BigInteger.TEN.pow(12);
  private static final BigInteger TENTH = BigInteger.TEN.pow(11);

  /** The model of one limit. */
  record Rule(long milliPerSecond, long burstTenths) {
    double rate() {
      return milliPerSecond / 1e3;
    }

    double burst() {
      return burstTenths / 10.0;
    }

    /** Without refill, a fraction of a token is of no use and not kept. */
    BigInteger capacity() {
      long tenths = milliPerSecond == 0 ? burstTenths / 10 * 10 : burstTenths;
      return TENTH.multiply(BigInteger.valueOf(tenths));
    }
  }

  private final Map<String, Rule> rules;
  private final Map<String, BigInteger> levels = new HashMap<>();
  private long updatedNanos;

  LimitsModel(Map<String, Rule> rules) {
    this.rules = rules;
    rules.forEach((key, rule) -> levels.put(key, rule.capacity()));
  }

  void advanceTo(long nowNanos) {
    BigInteger elapsed = BigInteger.valueOf(nowNanos - updatedNanos);
    updatedNanos = nowNanos;
    rules.forEach(
        (key, rule) -> {
          BigInteger minted = elapsed.multiply(BigInteger.valueOf(rule.milliPerSecond));
          levels.put(key, level(key).add(minted).min(rule.capacity()));
        });
  }

  boolean tryAcquire(Map<String, Long> costs) {
    if (costs.keySet().stream().anyMatch(key -> missing(key, costs).signum() > 0)) {
      return false;
    }
    costs.forEach((key, cost) -> levels.computeIfPresent(key, (k, l) -> l.subtract(tokens(cost))));
    return true;
  }

  /** How many units a key lacks; at most zero if it grants. */
  BigInteger missing(String key, Map<String, Long> costs) {
    return rules.containsKey(key)
        ? tokens(costs.getOrDefault(key, 0L)).subtract(level(key))
        : BigInteger.ZERO;
  }

  /** Nanoseconds until {@code key} grants its cost: a huge number if never. */
  BigInteger wait(String key, Map<String, Long> costs) {
    BigInteger missing = missing(key, costs);
    if (missing.signum() <= 0) {
      return BigInteger.ZERO;
    }
    Rule rule = rules.get(key);
    if (tokens(costs.getOrDefault(key, 0L)).compareTo(rule.capacity()) > 0) {
      return TOKEN.pow(5);
    }
    BigInteger rate = BigInteger.valueOf(rule.milliPerSecond);
    return rate.signum() == 0
        ? TOKEN.pow(4)
        : missing.add(rate).subtract(BigInteger.ONE).divide(rate);
  }

  BigInteger level(String key) {
    return levels.getOrDefault(key, BigInteger.ZERO);
  }

  private static BigInteger tokens(long count) {
    return TOKEN.multiply(BigInteger.valueOf(count));
  }
}
