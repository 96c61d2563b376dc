package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;

/** Measures all keys of one limit: a single key, or the keys of a template. */
public final class LimitMeter {
  final Scenario.ScenarioLimit throttle;
  private final Map<String, GrantedTokenMeter> keys = new LinkedHashMap<>();
  private final double[] takenByStep;
  private long takenBefore;
  private long taken;

  LimitMeter(Scenario.ScenarioLimit throttle, int steps) {
    this.throttle = throttle;
    this.takenByStep = new double[steps];
  }

  GrantedTokenMeter key(String key) {
    return keys.computeIfAbsent(key, absent -> new GrantedTokenMeter(throttle));
  }

  void taken(long tokens) {
    taken += tokens;
  }

  void endStep(int index) {
    takenByStep[index] = taken - takenBefore;
    takenBefore = taken;
  }

  public int keys() {
    return keys.size();
  }

  public long total() {
    return taken;
  }

  /** Returns taken by accrued tokens of a time; above 1 if the initial burst was used. */
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
  public GrantedTokenMeter worst() {
    return keys.values().stream()
        .max(Comparator.comparingLong(GrantedTokenMeter::worst))
        .orElseThrow();
  }
}
