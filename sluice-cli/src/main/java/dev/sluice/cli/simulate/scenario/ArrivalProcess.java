package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;

/**
 * Generates arrival times. One process serves any number of tenants, each with its own random
 * source.
 */
public final class ArrivalProcess {
  /** Later than every arrival. */
  public static final long NEVER = Long.MAX_VALUE;

  private static final long DAY = 86_400 * Durations.SECOND;
  private static final int MAX_SIZE = 1_000_000;

  private final Pattern pattern;
  private final long from;
  private final long until;

  /** Iterates over the arrivals of one tenant. */
  @FunctionalInterface
  public interface Times {
    /**
     * Returns the next arrival in nanoseconds, no earlier than the previous one; {@link #NEVER}
     * after the last.
     */
    long next();
  }

  /** Times from 0 on, however long that goes. */
  @FunctionalInterface
  private interface Pattern {
    Times follow(SplittableRandom random);
  }

  private ArrivalProcess(Pattern pattern, long from, long until) {
    this.pattern = pattern;
    this.from = from;
    this.until = until;
  }

  public Times times(SplittableRandom random) {
    Times times = pattern.follow(random);
    return () -> {
      long next = times.next();
      return next >= until - from ? NEVER : from + next;
    };
  }

  /**
   * Reads {@code arrivals} of a table.
   *
   * @param duration of the whole scenario
   * @param start its time of day
   * @param folder of the file, for those that it names
   */
  static ArrivalProcess read(TomlTable owner, long duration, long start, Path folder) {
    TomlTable table = owner.table("arrivals");
    String name = table.text("pattern");
    List<String> own = ScenarioKeys.PATTERNS.get(name);
    if (own == null) {
      throw table.wrong("pattern", "one of " + String.join(", ", ScenarioKeys.PATTERNS.keySet()));
    }
    List<String> known = new ArrayList<>(ScenarioKeys.ARRIVALS);
    known.addAll(own);
    table.only(known);
    long from = table.nanos("from", 0);
    long until = Math.min(duration, table.nanos("until", duration));
    if (table.has("until") && from >= table.nanos("until")) {
      throw table.wrong("until", "later than from");
    }
    Pattern pattern =
        switch (name) {
          case "steady" -> steady(positiveRate(table, "rate"));
          case "poisson" -> poisson(positiveRate(table, "rate"));
          case "bursts" -> bursts(table);
          case "on_off" -> onOff(table);
          case "ramp" -> ramp(table, Math.max(1, until - from));
          case "daily" -> daily(table, start + from, until - from);
          default -> trace(table, folder);
        };
    return new ArrivalProcess(pattern, from, Math.max(from, until));
  }

  private static double positiveRate(TomlTable table, String key) {
    return table.rate(key, Double.MIN_VALUE);
  }

  private static double meanGap(double rate) {
    return Durations.SECOND / rate;
  }

  private static long whole(double nanos) {
    return nanos >= NEVER ? NEVER : (long) nanos;
  }

  /** The first within one gap, so that tenants alike do not all come at once. */
  private static Pattern steady(double rate) {
    double gap = meanGap(rate);
    return random -> {
      double first = random.nextDouble();
      long[] count = {0};
      return () -> whole((first + count[0]++) * gap);
    };
  }

  private static Pattern poisson(double rate) {
    Distribution gaps = Distribution.exponential(meanGap(rate));
    return random -> {
      double[] now = {0};
      return () -> whole(now[0] += gaps.draw(random));
    };
  }

  private static Pattern bursts(TomlTable table) {
    long size = table.whole("size", 1, MAX_SIZE);
    long every = table.positiveNanos("every");
    return random -> {
      long[] count = {0};
      return () -> {
        long round = count[0]++ / size;
        return whole((double) round * every);
      };
    };
  }

  /** Generates random arrivals in the on phases, by a clock that stops in the off phases. */
  private static Pattern onOff(TomlTable table) {
    Pattern whileOn = poisson(positiveRate(table, "rate"));
    long on = table.positiveNanos("on");
    long off = table.nanos("off");
    return random -> {
      Times times = whileOn.follow(random);
      return () -> {
        long next = times.next();
        long round = next / on;
        return next == NEVER ? NEVER : whole((double) round * (on + off) + next % on);
      };
    };
  }

  private static Pattern ramp(TomlTable table, long length) {
    double first = table.rate("rate", 0);
    double last = table.rate("to", 0);
    return varying(length, Math.max(first, last), at -> first + (last - first) * (at / length));
  }

  private static Pattern daily(TomlTable table, long start, long length) {
    double low = table.rate("low", 0);
    double high = table.rate("high", 0);
    if (high < low) {
      throw table.wrong("high", "at least low");
    }
    long peak = table.timeOfDay("peak", "12:00");
    return varying(
        length,
        high,
        at -> {
          double turn = (at + start - peak) / DAY * 2 * StrictMath.PI;
          return low + (high - low) * (1 + StrictMath.cos(turn)) / 2;
        });
  }

  /**
   * Generates random arrivals at a varying rate: arrivals at the highest rate, thinned at random.
   */
  private static Pattern varying(long length, double highest, DoubleUnaryOperator rate) {
    if (highest == 0) {
      return random -> () -> NEVER;
    }
    Distribution gaps = Distribution.exponential(meanGap(highest));
    return random -> {
      double[] now = {0};
      return () -> {
        do {
          now[0] += gaps.draw(random);
        } while (now[0] < length && random.nextDouble() * highest >= rate.applyAsDouble(now[0]));
        return whole(now[0]);
      };
    };
  }

  private static Pattern trace(TomlTable table, Path folder) {
    if (table.has("at") == table.has("file")) {
      throw table.about("at", "or file must be given, and not both");
    }
    List<String> written = table.has("at") ? table.texts("at") : lines(table, folder);
    List<Long> at = new ArrayList<>();
    String key = table.has("at") ? "at" : "file";
    for (String time : written) {
      at.add(table.at(key, () -> Durations.parseNanos(time)));
    }
    Collections.sort(at);
    return random -> {
      int[] index = {0};
      return () -> index[0] < at.size() ? at.get(index[0]++) : NEVER;
    };
  }

  /** Reads one time per line; {@code #} begins a comment. */
  private static List<String> lines(TomlTable table, Path folder) {
    Path file = folder.resolve(table.text("file"));
    return table
        .at("file", () -> ScenarioFile.text(file))
        .lines()
        .map(line -> line.replaceFirst("#.*", "").strip())
        .filter(line -> !line.isEmpty())
        .toList();
  }
}
