package dev.sluice.cli.text;

import java.util.Comparator;
import java.util.List;

/** Finds names that resemble a mistyped one. */
public final class Suggestions {
  private static final int MOST = 3;

  private Suggestions() {}

  /** The length from which two letters may differ, for example when they are swapped. */
  private static final int LONG_ENOUGH = 4;

  /**
   * Returns names that differ from {@code wanted} in at most a third of its letters, nearest first.
   */
  public static List<String> of(String wanted, List<String> names) {
    int most = wanted.length() < LONG_ENOUGH ? 1 : Math.max(2, wanted.length() / 3);
    return names.stream()
        .filter(name -> distance(wanted, name) <= most)
        .sorted(Comparator.comparingInt((String name) -> distance(wanted, name)))
        .limit(MOST)
        .toList();
  }

  /** Returns the number of letters to add, drop or replace. */
  public static int distance(String from, String to) {
    int[] row = new int[to.length() + 1];
    for (int j = 0; j <= to.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[to.length()];
  }
}
