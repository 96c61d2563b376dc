package dev.sluice.properties;

import java.util.Properties;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the seeds that a randomized test runs, by system properties.
 *
 * <ul>
 *   <li>{@code -Dsluice.seed=N} runs the seed N alone: it replays a failure.
 *   <li>{@code -Dsluice.seeds=N} runs N seeds instead of the number that the test names.
 *   <li>{@code -Dsluice.seeds.first=N} starts at the seed N instead of 0: a long run looks where no
 *       run has looked before.
 * </ul>
 */
public final class Seeds {
  private static final String ONLY = "sluice.seed";
  private static final String COUNT = "sluice.seeds";
  private static final String FIRST = "sluice.seeds.first";

  private Seeds() {}

  /**
   * Returns the seeds to run, by default 0 to {@code count - 1}.
   *
   * @param count how many seeds a test runs unless it is told otherwise
   * @return the seeds, in the order in which they run
   * @throws IllegalArgumentException if a system property is no number, or no seed would run
   */
  public static LongStream chosen(int count) {
    return chosen(count, System.getProperties());
  }

  static LongStream chosen(int count, Properties properties) {
    Long only = number(ONLY, properties);
    if (only != null) {
      return LongStream.of(only);
    }
    Long chosen = number(COUNT, properties);
    long seeds = chosen == null ? count : chosen;
    if (seeds <= 0) {
      throw new IllegalArgumentException("the number of seeds must be positive, but was " + seeds);
    }
    Long first = number(FIRST, properties);
    long start = first == null ? 0 : first;
    // Counts from zero, so that a start close to the largest number wraps around.
    return LongStream.range(0, seeds).map(index -> start + index);
  }

  private static @Nullable Long number(String name, Properties properties) {
    String text = properties.getProperty(name);
    try {
      return text == null ? null : Long.valueOf(text);
    } catch (NumberFormatException notANumber) {
      throw new IllegalArgumentException(name + " must be a number, but was " + text, notANumber);
    }
  }
}
