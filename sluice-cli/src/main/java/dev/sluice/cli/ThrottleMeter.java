package dev.sluice.cli;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;

/** All keys of one rate: a key with its own, or those of a template. */
final class ThrottleMeter {
  final Scenario.Throttle throttle;
  private final Map<String, TokenMeter> keys = new LinkedHashMap<>();
  private final double[] takenByStep;
  private long takenBefore;
  private long taken;

  ThrottleMeter(Scenario.Throttle throttle, int steps) {
    this.throttle = throttle;
    this.takenByStep = new double[steps];
  }

  TokenMeter key(String key) {
    return keys.computeIfAbsent(key, absent -> new TokenMeter(throttle));
  }

  void taken(long tokens) {
    taken += tokens;
  }

  void endStep(int index) {
    takenByStep[index] = taken - takenBefore;
    takenBefore = taken;
  }

  int keys() {
    return keys.size();
  }

  long total() {
    return taken;
  }

  /** What was taken by what accrued in so long; the burst at the start may make it more than 1. */
  double used(double tokens, long nanos) {
    double accrued = throttle.rate() * keys() * ((double) nanos / Durations.SECOND);
    return accrued == 0 ? Double.NaN : tokens / accrued;
  }

  double used(long nanos) {
    return used((double) taken, nanos);
  }

  double[] takenByStep() {
    return takenByStep;
  }

  /** The key that came closest to its limit. */
  TokenMeter worst() {
    return keys.values().stream().max(Comparator.comparingLong(TokenMeter::worst)).orElseThrow();
  }
}
