package dev.sluice.bench.governor;

import dev.sluice.bench.measure.Calm;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import dev.sluice.bench.measure.Scratch;
import dev.sluice.bench.redis.RedisProcess;
import dev.sluice.bench.redis.SharedKind;
import dev.sluice.bench.redis.SharedLimiter;
import dev.sluice.bench.redis.SharedLoad;
import dev.sluice.governor.BudgetListener;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One budget and one line of the governor for a fleet, in a Redis of its own on the same machine:
 * grants a second beside the decisions a second of a shared limit, then a fleet of processes under
 * overload, then a Redis that is killed.
 */
public final class GovernorFleetSuite {
  /** As in the benchmark of shared limits. */
  private static final long FAR_PER_SECOND = 100_000_000;

  private static final int CALLERS = 16;
  private static final int COUNTED = 1_000;

  /** Asked for by the connection and by this benchmark, and not by a script. */
  private static final Set<String> NOT_OF_SCRIPTS = Set.of("evalsha", "info", "config|resetstat");

  private static final Pattern CALLS = Pattern.compile("cmdstat_([^:]+):calls=(\\d+),.*");

  /** How much is measured. */
  private record Effort(
      int rounds,
      int warmUps,
      Duration leadIn,
      Duration measured,
      int processes,
      Duration overload,
      int failovers) {
    static final Effort QUICK =
        new Effort(
            3, 3, Duration.ofMillis(100), Duration.ofMillis(400), 2, Duration.ofSeconds(10), 1);
    static final Effort FULL =
        new Effort(
            5, 8, Duration.ofMillis(250), Duration.ofMillis(1_500), 4, Duration.ofMinutes(10), 5);
  }

  private final Effort effort;
  private final RedisProcess redis;
  private final Rounds rounds;
  private final Report report = new Report();
  private final Map<String, Supplier<SharedLoad.Call>> contenders = new LinkedHashMap<>();
  private SharedGovernor kept;
  private int loads;
  private int round;

  private GovernorFleetSuite(Effort effort, RedisProcess redis) {
    this.kept = new SharedGovernor(redis.url(), "kept:", BudgetListener.NONE);
    this.effort = effort;
    this.redis = redis;
    this.rounds = Rounds.of(effort.rounds());
  }

  public static Report run(boolean quick) throws Exception {
    try (Scratch scratch = new Scratch();
        RedisProcess redis = new RedisProcess(scratch.next())) {
      GovernorFleetSuite suite = new GovernorFleetSuite(quick ? Effort.QUICK : Effort.FULL, redis);
      return suite.measure(Files.createDirectories(scratch.next()));
    }
  }

  private Report measure(Path folder) throws Exception {
    report.line(
        "Redis %s over loopback, clients and server on %d cores",
        redis.version(), Runtime.getRuntime().availableProcessors());
    try (SharedLimiter exact = SharedKind.EXACT.open(redis.url(), FAR_PER_SECOND);
        SharedGovernor settled = new SharedGovernor(redis.url(), "settled:", BudgetListener.NONE)) {
      contenders.put("exact", () -> exact::tryConsume);
      contenders.put("redis", () -> kept::grant);
      contenders.put("redis_settled", () -> settled::grantAndSettle);
      for (String name : contenders.keySet()) {
        warmUp(name);
      }
      rounds.run(unused -> round());
      perSecond();
      callsPerGrant(kept);
    } finally {
      kept.close();
    }
    new GovernorFleetLoad(effort.processes(), effort.overload(), report)
        .measure(redis.url(), folder);
    report.line("");
    Rounds.value(report, "failover_gap_ms", Rounds.median(FailoverGap.millis(effort.failovers())));
    report.line("");
    rounds.ratio(report, "of_redis_exact", "redis_per_s", "exact_per_s");
    rounds.ratio(report, "settled_of_redis_exact", "redis_settled_per_s", "exact_per_s");
    return report;
  }

  // ---- grants a second

  private void warmUp(String name) throws InterruptedException {
    Calm calm = new Calm(Math.min(3, effort.warmUps()), effort.warmUps());
    double perSecond;
    do {
      perSecond = load(name).perSecond();
    } while (!calm.after(1 / perSecond));
    System.err.printf(Locale.ROOT, "%s is warm at %,.0f a second%n", name, perSecond);
  }

  private SharedLoad.Outcome load(String name) throws InterruptedException {
    // Unsettled grants accumulate, so each load starts with an empty store under its own prefix.
    kept.close();
    kept = new SharedGovernor(redis.url(), "kept-%d:".formatted(loads++), BudgetListener.NONE);
    return SharedLoad.measure(
        SharedLoad.calls(CALLERS, contenders.get(name)), effort.leadIn(), effort.measured());
  }

  private void round() throws InterruptedException {
    List<String> order = new ArrayList<>(contenders.keySet());
    if (round++ % 2 == 1) {
      Collections.reverse(order);
    }
    for (String name : order) {
      SharedLoad.Outcome outcome = load(name);
      rounds.record(name + "_per_s", outcome.perSecond());
      rounds.record(name + "_p50_us", outcome.micros(50));
      rounds.record(name + "_p99_us", outcome.micros(99));
      rounds.record(name + "_failed", (double) (outcome.failed() + outcome.refused()));
    }
  }

  private void perSecond() {
    report.line("");
    report.line(
        "limit out of reach, %d callers; medians of %d round(s) of %d ms",
        CALLERS, effort.rounds(), effort.measured().toMillis());
    for (String name : contenders.keySet()) {
      for (String figure : List.of("_per_s", "_p50_us", "_p99_us", "_failed")) {
        rounds.value(report, name + figure);
      }
    }
  }

  // ---- calls

  /** Of all commands that Redis counts, those that a grant has; the connection's own are rare. */
  private void callsPerGrant(SharedGovernor governor) {
    try (RedisClient client = RedisClient.create(redis.url());
        StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().configResetstat();
      for (int i = 0; i < COUNTED; i++) {
        governor.grant();
      }
      long calls =
          connection
              .sync()
              .info("commandstats")
              .lines()
              .map(CALLS::matcher)
              .filter(Matcher::matches)
              .filter(found -> !NOT_OF_SCRIPTS.contains(found.group(1)))
              .mapToLong(found -> Math.round(Double.parseDouble(found.group(2)) / COUNTED))
              .sum();
      report.line("");
      Rounds.value(report, "redis_calls_per_grant", (double) calls);
    }
  }
}
