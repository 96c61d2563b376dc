package dev.sluice.redis.simulation;

import dev.sluice.Limit;
import java.time.Duration;
import java.util.Random;

/**
 * A limit of a simulation, and how it is used.
 *
 * @param kind by which API
 * @param name of the bucket or key
 * @param limit what it allows
 */
record Target(Kind kind, String name, Limit limit) {
  private static final double NANOS = 1e9;

  /** How a limit is asked for. */
  enum Kind {
    BUCKET,
    LEASED,
    /** A key of the throttle; each request asks for all such keys. */
    KEY
  }

  static Target balanced(Kind kind, String name, long capacity, long perSecond) {
    return new Target(kind, name, new Limit.Balanced(capacity, perSecond, Duration.ofSeconds(1)));
  }

  static Target random(Random random, int index) {
    String name = "limit" + index;
    long rate = 20L + random.nextInt(400);
    return switch (random.nextInt(7)) {
      case 0 -> balanced(Kind.BUCKET, name, Math.max(10, rate / 4), rate);
      case 1 -> balanced(Kind.BUCKET, name, rate * (2 + random.nextInt(8)), rate);
      case 2 -> balanced(Kind.BUCKET, name, 3_600 + random.nextInt(3_600), 1);
      case 3 ->
          new Target(
              Kind.BUCKET,
              name,
              new Limit.Strict(rate, Duration.ofMillis(300 + random.nextInt(2_000))));
      case 4 -> new Target(Kind.KEY, name, new Limit.Rate(rate, rate * (0.5 + random.nextInt(4))));
      default -> balanced(Kind.LEASED, name, rate * (2 + random.nextInt(3)), rate);
    };
  }

  double capacity() {
    return limit instanceof Limit.Rate rate ? rate.burst() : limit.capacity();
  }

  boolean isStrict() {
    return limit instanceof Limit.Strict;
  }

  long periodNanos() {
    return ((Limit.Strict) limit).period().toNanos();
  }

  /** Returns the tokens per nanosecond; of a strict limit, over many periods. */
  double perNano() {
    if (limit instanceof Limit.Balanced balanced) {
      return (double) balanced.refillTokens() / balanced.refillPeriod().toNanos();
    }
    return limit instanceof Limit.Rate rate
        ? rate.perSecond() / NANOS
        : (double) limit.capacity() / periodNanos();
  }
}
