package dev.sluice.cli.simulate.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Times, tokens or fractions, drawn at random. The same on every machine: by strict arithmetic. */
@FunctionalInterface
public interface Distribution {
  /** The 99th percentile of the normal distribution, in standard deviations above the mean. */
  double P99_DEVIATIONS = 2.3263478740408408;

  double draw(SplittableRandom random);

  /** The kind of value that a key takes. */
  enum Kind {
    /** A time in nanoseconds. */
    TIME {
      @Override
      double read(TomlTable table, String key) {
        return table.nanos(key);
      }
    },
    TOKENS {
      @Override
      double read(TomlTable table, String key) {
        return table.whole(key, 1, MAX_TOKENS);
      }
    },
    FRACTION {
      @Override
      double read(TomlTable table, String key) {
        return table.number(key, 0, MAX_FRACTION);
      }
    };

    private static final long MAX_TOKENS = 1_000_000_000_000L;
    private static final double MAX_FRACTION = 10;

    abstract double read(TomlTable table, String key);
  }

  /** Always the same. */
  static Distribution fixed(double value) {
    return random -> value;
  }

  /** A plain value, or a table that says how it varies. */
  static Distribution read(TomlTable table, String key, Kind kind) {
    if (!table.has(key) || !table.isTable(key)) {
      return fixed(kind.read(table, key));
    }
    TomlTable own = table.table(key);
    String name = own.text("distribution");
    List<String> keys = ScenarioKeys.DISTRIBUTIONS.get(name);
    if (keys == null) {
      throw own.wrong(
          "distribution", "one of " + String.join(", ", ScenarioKeys.DISTRIBUTIONS.keySet()));
    }
    List<String> known = new ArrayList<>(List.of("distribution"));
    known.addAll(keys);
    own.only(known);
    double most = own.has("max") ? kind.read(own, "max") : Double.POSITIVE_INFINITY;
    return switch (name) {
      case "exponential" -> capped(exponential(kind.read(own, "mean")), most);
      case "lognormal" -> capped(logNormal(own, kind), most);
      default -> uniform(own, kind);
    };
  }

  private static Distribution capped(Distribution any, double most) {
    return random -> Math.min(most, any.draw(random));
  }

  static Distribution exponential(double mean) {
    return random -> -StrictMath.log(1 - random.nextDouble()) * mean;
  }

  private static Distribution logNormal(TomlTable own, Kind kind) {
    double median = kind.read(own, "median");
    double p99 = kind.read(own, "p99");
    if (!(median > 0)) {
      throw own.wrong("median", "more than 0");
    }
    if (p99 < median) {
      throw own.wrong("p99", "at least the median");
    }
    double deviation = StrictMath.log(p99 / median) / P99_DEVIATIONS;
    return random -> median * StrictMath.exp(deviation * normal(random));
  }

  /** Returns a normally distributed number, by the Box-Muller transform. */
  private static double normal(SplittableRandom random) {
    double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - random.nextDouble()));
    return radius * StrictMath.cos(2 * StrictMath.PI * random.nextDouble());
  }

  private static Distribution uniform(TomlTable own, Kind kind) {
    double least = kind.read(own, "min");
    double most = kind.read(own, "max");
    if (most < least) {
      throw own.wrong("max", "at least min");
    }
    return random -> least + (most - least) * random.nextDouble();
  }
}
