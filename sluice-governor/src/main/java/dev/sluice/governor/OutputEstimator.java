package dev.sluice.governor;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Learns which part of its requests a tenant uses, so that less needs to be reserved. Nine of ten
 * calls stay within the estimate; what the others use beyond it is charged when they are settled.
 * Thread-safe.
 */
final class OutputEstimator {
  /*
   * The estimate is the k-th smallest of the last n ratios, k = ceil(0.9 (n + 1)): if the next call
   * is like those before, it stays within that with a chance of nine in ten, however few they are.
   * Ratios are kept in parts of 10,000, rounded up.
   */
  static final int LEAST_SAMPLES = 20;
  static final int WINDOW = 100;
  static final int MOST_TENANTS = 4_096;

  private static final int PARTS = 10_000;
  private static final int LEAST_PARTS = PARTS / 2;

  /** Guarded by this; the one that was used longest ago goes first. */
  private final Map<OutputEstimator.ModelTenant, Samples> samples =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(
            Map.Entry<OutputEstimator.ModelTenant, Samples> eldest) {
          return size() > MOST_TENANTS;
        }
      };

  /** A tenant of a model; ordered, so that maps stay fast if hashes collide. */
  private record ModelTenant(String model, String tenant) implements Comparable<ModelTenant> {
    @Override
    public int compareTo(ModelTenant other) {
      int order = tenant.compareTo(other.tenant);
      return order != 0 ? order : model.compareTo(other.model);
    }
  }

  /** The last ratios of one tenant. */
  private static final class Samples {
    final short[] ring = new short[WINDOW];
    int count;
    int next;

    void add(int parts) {
      ring[next] = (short) parts;
      next = (next + 1) % WINDOW;
      count = Math.min(WINDOW, count + 1);
    }

    int estimate() {
      short[] sorted = Arrays.copyOf(ring, count);
      Arrays.sort(sorted);
      int rank = Math.min(count, (9 * (count + 1) + 9) / 10);
      return Math.max(LEAST_PARTS, sorted[rank - 1]);
    }
  }

  /**
   * Returns the tokens to reserve.
   *
   * @param requestedTokens what was asked for
   * @return at least half of it; all of it while too little is known
   */
  synchronized long estimate(String model, String tenant, long requestedTokens) {
    Samples known = samples.get(new OutputEstimator.ModelTenant(model, tenant));
    if (known == null || known.count < LEAST_SAMPLES || requestedTokens <= 0) {
      return requestedTokens;
    }
    return scaled(requestedTokens, known.estimate());
  }

  /**
   * Returns the least that is reserved for {@code requestedTokens}, however little is expected: a
   * tenant that has used little so far may still use all of them.
   */
  static long leastOf(long requestedTokens) {
    return scaled(requestedTokens, LEAST_PARTS);
  }

  private static long scaled(long tokens, int parts) {
    return tokens / PARTS * parts + (tokens % PARTS * parts + PARTS - 1) / PARTS;
  }

  /**
   * Learns from a call. One that used nothing says nothing: it was refused, or never made.
   *
   * @param settled whose requested tokens are what was asked for, not what was reserved instead
   */
  synchronized void learn(TokenSettlement settled) {
    if (settled.actualTokens() <= 0 || settled.requestedTokens() <= 0) {
      return;
    }
    samples
        .computeIfAbsent(
            new OutputEstimator.ModelTenant(settled.model(), settled.tenant()),
            unused -> new Samples())
        .add(ratio(settled.actualTokens(), settled.requestedTokens()));
  }

  private static int ratio(long actual, long requested) {
    if (actual >= requested) {
      return PARTS;
    }
    return (int) Math.min(PARTS, Math.ceil((double) actual / requested * PARTS));
  }
}
