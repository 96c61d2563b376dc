package dev.sluice.bench;

import dev.sluice.bench.broker.BrokerSuite;
import dev.sluice.bench.core.BucketSuite;
import dev.sluice.bench.core.SchedulerSuite;
import dev.sluice.bench.core.ThrottleSuite;
import dev.sluice.bench.governor.GovernorFleetSuite;
import dev.sluice.bench.governor.GovernorSuite;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.redis.RedisSuite;
import dev.sluice.bench.server.HostileSuite;
import dev.sluice.bench.server.ServerSuite;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs a benchmark by name: {@code ./bench NAME [--quick]}. */
public final class Bench {
  private static final int USAGE = 2;

  /** A benchmark that measures itself and reports. */
  @FunctionalInterface
  interface Suite {
    Report run(boolean quick) throws Exception;
  }

  private static final Map<String, Suite> SUITES =
      new TreeMap<>(
          Map.of(
              "broker", BrokerSuite::run,
              "bucket", BucketSuite::run,
              "governor", GovernorSuite::run,
              "governor-fleet", GovernorFleetSuite::run,
              "hostile", HostileSuite::run,
              "redis", RedisSuite::run,
              "scheduler", SchedulerSuite::run,
              "server", ServerSuite::run,
              "throttle", ThrottleSuite::run));

  private Bench() {}

  public static void main(String[] args) throws Exception {
    List<String> words = List.of(args);
    boolean quick = words.contains("--quick");
    List<String> names = words.stream().filter(word -> !word.equals("--quick")).toList();
    Suite suite = names.size() == 1 ? SUITES.get(names.get(0)) : null;
    if (suite == null) {
      System.err.println("usage: ./bench NAME [--quick]");
      System.err.println("names: " + String.join(", ", SUITES.keySet()));
      System.exit(USAGE);
      return;
    }
    suite.run(quick).print(names.get(0));
  }
}
