package dev.sluice.cli.simulate.scenario;

import java.util.Arrays;

/** Max-min fair shares by weight: no share exceeds its demand, and nothing is left over. */
public final class MaxMinFairShare {
  private MaxMinFairShare() {}

  /** The parts of {@code amount}, which together are 1, unless there is none. */
  public static double[] of(double amount, double[] weights, double[] demands) {
    double[] parts = new double[weights.length];
    boolean[] content = new boolean[weights.length];
    double rest = amount;
    boolean changed = true;
    while (changed) {
      changed = false;
      double weight = 0;
      for (int i = 0; i < parts.length; i++) {
        weight += content[i] ? 0 : weights[i];
      }
      double perWeight = weight == 0 ? 0 : rest / weight;
      for (int i = 0; i < parts.length; i++) {
        if (!content[i] && demands[i] <= perWeight * weights[i]) {
          content[i] = true;
          parts[i] = demands[i];
          rest -= demands[i];
          changed = true;
        } else if (!content[i]) {
          parts[i] = perWeight * weights[i];
        }
      }
    }
    return Arrays.stream(parts).map(part -> amount == 0 ? 0 : part / amount).toArray();
  }
}
