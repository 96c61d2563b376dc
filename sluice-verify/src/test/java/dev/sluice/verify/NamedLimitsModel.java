package dev.sluice.verify;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The sequential specification of limits without refill: tokens by name. */
public class NamedLimitsModel {
  static final long BURST = 2;

  private final Map<String, Long> tokens = new HashMap<>(Map.of("a", BURST, "b", BURST));

  public boolean tryAcquire(boolean first) {
    return take(List.of(key(first)));
  }

  public boolean tryAcquireBoth(boolean first) {
    return take(List.of("a", "b"));
  }

  public String consumeBoth() {
    boolean granted = take(List.of("a", "b"));
    return granted ? "granted" : "refused";
  }

  public void setRate(boolean first, long burst) {
    tokens.merge(key(first), burst, Math::min);
  }

  public double level(boolean first) {
    return (double) tokens.get(key(first));
  }

  private static String key(boolean first) {
    return first ? "a" : "b";
  }

  private boolean take(List<String> keys) {
    if (keys.stream().anyMatch(key -> tokens.get(key) < 1)) {
      return false;
    }
    keys.forEach(key -> tokens.merge(key, -1L, Long::sum));
    return true;
  }

  /** Equal states let Lincheck skip what it has explored. */
  @Override
  public boolean equals(Object other) {
    return other instanceof NamedLimitsModel model && tokens.equals(model.tokens);
  }

  @Override
  public int hashCode() {
    return tokens.hashCode();
  }
}
