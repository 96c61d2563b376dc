package dev.sluice.bench.redis;

import dev.sluice.bench.measure.Calm;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import dev.sluice.bench.measure.Scratch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Limits shared through one Redis, which runs in a process of its own on the same machine: ours,
 * rivals, and a script that makes the same Redis calls without deciding anything. All clients are
 * in this JVM and take turns.
 */
public final class RedisSuite {
  /** Above any reachable rate, so that every decision is a grant. */
  private static final long FAR_PER_SECOND = 100_000_000;

  private static final int KEYS = 100_000;
  private static final List<Integer> CALLERS = List.of(1, 16, 256);
  private static final int MAIN_CALLERS = 16;

  /** How much is measured. */
  private record Effort(
      int rounds,
      int sideRounds,
      int warmUps,
      Duration leadIn,
      Duration measured,
      Duration side,
      Duration bounds) {
    static final Effort QUICK =
        new Effort(3, 1, 3, millis(100), millis(400), millis(200), millis(1_000));
    static final Effort FULL =
        new Effort(5, 5, 8, millis(250), millis(1_500), millis(800), millis(4_000));

    private static Duration millis(long millis) {
      return Duration.ofMillis(millis);
    }
  }

  /** The requested limits: one that all callers share, or one of many at random. */
  private enum Scenario {
    HOT {
      @Override
      Supplier<SharedLoad.Call> calls(SharedLimiter limiter, List<String> keys) {
        return () -> limiter::tryConsume;
      }
    },
    KEYS {
      @Override
      Supplier<SharedLoad.Call> calls(SharedLimiter limiter, List<String> keys) {
        return () -> {
          SplittableRandom random = new SplittableRandom();
          return () -> limiter.tryConsume(keys.get(random.nextInt(keys.size())));
        };
      }
    };

    abstract Supplier<SharedLoad.Call> calls(SharedLimiter limiter, List<String> keys);
  }

  /** Measures one kind. */
  private record Leg(Scenario scenario, int callers) {
    static final Leg MAIN = new Leg(Scenario.HOT, MAIN_CALLERS);

    /** The main one has the short names. */
    String name(SharedKind kind, String figure) {
      String where =
          equals(MAIN) ? "" : scenario.name().toLowerCase(Locale.ROOT) + "_" + callers + "_";
      return kind.label() + "_" + where + figure;
    }

    static List<Leg> sides() {
      return Arrays.stream(Scenario.values())
          .flatMap(scenario -> CALLERS.stream().map(callers -> new Leg(scenario, callers)))
          .filter(leg -> !leg.equals(MAIN))
          .toList();
    }
  }

  private final Effort effort;
  private final RedisProcess redis;
  private final Rounds rounds;
  private final Report report = new Report();
  private final List<String> keys = IntStream.range(0, KEYS).mapToObj(i -> "user:" + i).toList();
  private final Map<SharedKind, SharedLimiter> limiters = new EnumMap<>(SharedKind.class);
  private final Map<String, Long> failures = new LinkedHashMap<>();
  private final Map<String, String> reasons = new LinkedHashMap<>();
  private int round;

  private RedisSuite(Effort effort, RedisProcess redis) {
    this.effort = effort;
    this.redis = redis;
    this.rounds = Rounds.of(effort.rounds());
  }

  public static Report run(boolean quick) throws Exception {
    try (Scratch scratch = new Scratch();
        RedisProcess redis = new RedisProcess(scratch.next())) {
      RedisSuite suite = new RedisSuite(quick ? Effort.QUICK : Effort.FULL, redis);
      try {
        return suite.measure();
      } finally {
        suite.limiters.values().forEach(SharedLimiter::close);
      }
    }
  }

  private Report measure() throws Exception {
    head();
    for (SharedKind kind : SharedKind.values()) {
      SharedLimiter limiter = kind.open(redis.url(), FAR_PER_SECOND);
      limiters.put(kind, limiter);
      limiter.prepare(keys);
      warmUp(kind);
    }
    new SharedBounds(redis.url(), effort.bounds(), report).measure();
    rounds.run(unused -> round());
    table();
    return report;
  }

  // ---- what is measured

  private void warmUp(SharedKind kind) throws InterruptedException {
    Calm calm = new Calm(Math.min(3, effort.warmUps()), effort.warmUps());
    double perSecond;
    do {
      perSecond = load(kind, Leg.MAIN, effort.side()).perSecond();
    } while (!calm.after(1 / perSecond));
    load(kind, new Leg(Scenario.KEYS, MAIN_CALLERS), effort.side());
    System.err.printf(Locale.ROOT, "%s is warm at %,.0f a second%n", kind.label(), perSecond);
  }

  private void round() throws InterruptedException {
    List<SharedKind> order = new ArrayList<>(List.of(SharedKind.values()));
    if (round % 2 == 1) {
      Collections.reverse(order);
    }
    for (SharedKind kind : order) {
      record(kind, Leg.MAIN, effort.measured());
    }
    if (round < effort.sideRounds()) {
      for (Leg leg : Leg.sides()) {
        for (SharedKind kind : order) {
          record(kind, leg, effort.side());
        }
      }
      for (SharedKind kind : order) {
        pipelined(kind);
      }
    }
    round++;
  }

  private void record(SharedKind kind, Leg leg, Duration measured) throws InterruptedException {
    SharedLoad.Outcome outcome = load(kind, leg, measured);
    rounds.record(leg.name(kind, "per_s"), outcome.perSecond());
    rounds.record(leg.name(kind, "p50_us"), outcome.micros(50));
    rounds.record(leg.name(kind, "p99_us"), outcome.micros(99));
    // No caller is near the limit: a denial is a failure too.
    failed(leg.name(kind, "failed"), outcome.failed() + outcome.refused(), outcome.failure());
  }

  private SharedLoad.Outcome load(SharedKind kind, Leg leg, Duration measured)
      throws InterruptedException {
    Supplier<SharedLoad.Call> each = leg.scenario().calls(limiters.get(kind), keys);
    return SharedLoad.measure(SharedLoad.calls(leg.callers(), each), effort.leadIn(), measured);
  }

  private void pipelined(SharedKind kind) throws InterruptedException {
    PipelinedLoad load = new PipelinedLoad(limiters.get(kind)::tryConsumeAsync);
    rounds.record(
        kind.label() + "_pipelined_per_s", load.perSecond(effort.leadIn(), effort.side()));
    failed(kind.label() + "_pipelined_failed", load.failed(), "");
  }

  private void failed(String name, long calls, String reason) {
    failures.merge(name, calls, Long::sum);
    if (calls > 0) {
      reasons.putIfAbsent(name, reason.isEmpty() ? "refused" : reason);
      System.err.printf("  %-32s %10d %s%n", name, calls, reasons.get(name));
    }
  }

  // ---- the report

  private void head() {
    report.line(
        "Redis %s over loopback, clients and server on %d cores",
        redis.version(), Runtime.getRuntime().availableProcessors());
    report.line(
        "ceiling, exact, leased and Bucket4j on Lettuce, Redisson on its own client; in one JVM");
  }

  private void table() {
    report.line("");
    report.line(
        "limit out of reach; medians of %d round(s) of %d ms, others of %d of %d ms",
        effort.rounds(),
        effort.measured().toMillis(),
        effort.sideRounds(),
        effort.side().toMillis());
    rows(Leg.MAIN);
    Leg.sides().forEach(this::rows);
    report.line("");
    report.line("one thread, up to %d calls without an answer", PipelinedLoad.WINDOW);
    for (SharedKind kind : SharedKind.values()) {
      String name = kind.label() + "_pipelined_";
      value(name + "per_s");
      report.line(
          "%-10s %,14.0f a second %s",
          kind.label(), rounds.median(name + "per_s"), note(name + "failed"));
    }
    report.line("");
    limiters.forEach(this::notes);
    report.line("");
    rounds.ratio(report, "vs_bucket4j", "exact_per_s", "bucket4j_per_s");
    rounds.ratio(report, "vs_redisson", "exact_per_s", "redisson_per_s");
    rounds.ratio(report, "of_ceiling", "exact_per_s", "ceiling_per_s");
    rounds.ratio(report, "lease_gain", "leased_per_s", "exact_per_s");
  }

  private void notes(SharedKind kind, SharedLimiter limiter) {
    if (!limiter.notes().isEmpty()) {
      report.line("%-10s %s", kind.label(), limiter.notes());
    }
  }

  private void rows(Leg leg) {
    report.line("");
    report.line(
        "%s, %d caller(s)",
        leg.scenario() == Scenario.HOT ? "one key" : String.format("%,d keys", KEYS),
        leg.callers());
    for (SharedKind kind : SharedKind.values()) {
      report.line(
          "%-10s %,14.0f a second   p50 %,10.1f us   p99 %,10.1f us %s",
          kind.label(),
          value(leg.name(kind, "per_s")),
          value(leg.name(kind, "p50_us")),
          value(leg.name(kind, "p99_us")),
          note(leg.name(kind, "failed")));
    }
  }

  private double value(String name) {
    double value = rounds.median(name);
    report.value(name, value);
    return value;
  }

  private String note(String name) {
    long calls = failures.getOrDefault(name, 0L);
    report.value(name, (double) calls);
    return calls == 0 ? "" : "  FAILED: %,d, %s".formatted(calls, reasons.get(name));
  }
}
