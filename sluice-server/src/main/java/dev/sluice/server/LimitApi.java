package dev.sluice.server;

import dev.sluice.Throttle;
import dev.sluice.ThrottleDecision;
import dev.sluice.server.Permission.Kind;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Limits by key: sets them and decides. Their keys have nothing to do with those of queues. */
final class LimitApi {
  static final int MAX_KEYS = 64;
  private static final int MAX_KEY_BYTES = 256;
  private static final String TEMPLATE_END = "*";

  private final Throttle throttle;

  // Guarded by this.
  private final SortedMap<String, Rate> limits = new TreeMap<>();

  /**
   * What a key may have.
   *
   * @param perSecond tokens that accrue in a second
   * @param burst the most tokens held
   */
  record Rate(double perSecond, double burst) {}

  LimitApi(Throttle throttle) {
    this.throttle = throttle;
  }

  /** Takes all of {@code costs} or none; nothing at all if {@code dryRun}. */
  ThrottleDecision decide(Caller caller, Map<String, Long> costs, boolean dryRun) {
    if (costs.isEmpty() || costs.size() > MAX_KEYS) {
      throw ApiException.invalid(
          "costs must name 1 to %d keys: %d".formatted(MAX_KEYS, costs.size()));
    }
    for (String key : costs.keySet()) {
      requireKey(key);
      caller.require(Kind.LIMIT, key);
      if (throttle.snapshot(key).isEmpty()) {
        throw ApiException.notFound("there is no limit for the key: " + key);
      }
    }
    return dryRun ? throttle.peek(costs) : throttle.consume(costs);
  }

  /** How a key stands that the caller has just been answered for. */
  Optional<Throttle.Snapshot> snapshot(String key) {
    return throttle.snapshot(key);
  }

  synchronized void set(Caller caller, String key, Rate rate) {
    caller.require(Kind.ADMIN, key);
    requireKey(key);
    if (key.endsWith(TEMPLATE_END)) {
      throttle.setTemplate(key, rate.perSecond(), rate.burst());
    } else {
      throttle.setRate(key, rate.perSecond(), rate.burst());
    }
    limits.put(key, rate);
  }

  synchronized void remove(Caller caller, String key) {
    caller.require(Kind.ADMIN, key);
    if (limits.remove(key) == null) {
      throw ApiException.notFound("there is no limit of that key: " + key);
    }
    if (key.endsWith(TEMPLATE_END)) {
      throttle.removeTemplate(key);
    } else {
      throttle.removeRate(key);
    }
  }

  synchronized SortedMap<String, Rate> list(Caller caller) {
    SortedMap<String, Rate> found = new TreeMap<>(limits);
    found.keySet().removeIf(key -> !caller.may(Kind.ADMIN, key));
    return Collections.unmodifiableSortedMap(found);
  }

  private static void requireKey(String key) {
    int bytes = key.getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
    if (bytes < 1 || bytes > MAX_KEY_BYTES) {
      throw ApiException.invalid("key must have 1 to %d bytes: %d".formatted(MAX_KEY_BYTES, bytes));
    }
  }
}
