package dev.sluice.attacks;

import java.util.List;

/** Computes percentiles of samples. */
final class Percentiles {
  private Percentiles() {}

  /** Returns the 99th percentile in milliseconds, by nearest rank; 0 without samples. */
  static double p99(List<GoodLoad.Sample> samples) {
    long[] nanos = samples.stream().mapToLong(GoodLoad.Sample::nanos).sorted().toArray();
    int rank = (int) Math.ceil(nanos.length * 0.99);
    return nanos.length == 0 ? 0 : nanos[rank - 1] / 1e6;
  }
}
