package dev.sluice.cli.simulate.scenario;

import dev.sluice.governor.BudgetConfig;
import java.time.Duration;
import java.util.List;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * The content of a scenario file.
 *
 * @param startNanos the time of day at the start
 * @param steps the number of parts in plots
 * @param budget null without models
 */
public record Scenario(
    String title,
    long durationNanos,
    long seed,
    long startNanos,
    int steps,
    List<Scenario.ScenarioLimit> throttles,
    List<Scenario.ScenarioQueue> queues,
    @Nullable BudgetConfig budget,
    List<Caller> callers) {

  /** The rate of a throttle key, or, if it ends in {@code *}, of each key that begins so. */
  record ScenarioLimit(String key, double rate, double burst) {
    boolean isTemplate() {
      return key.endsWith("*");
    }

    boolean covers(String other) {
      return isTemplate()
          ? other.startsWith(key.substring(0, key.length() - 1))
          : key.equals(other);
    }
  }

  /**
   * A queue and its workers.
   *
   * @param workers 0 for any number
   * @param maxInFlightPerKey 0 for any number
   * @param maxDepth 0 for any depth
   */
  public record ScenarioQueue(
      String name,
      int workers,
      boolean strictOrder,
      int maxInFlightPerKey,
      long maxDepth,
      List<Tenant> tenants) {}

  /**
   * A tenant of a queue, or several alike.
   *
   * @param path where it is in the file
   * @param count how many; from 2 on each has a number behind its name
   * @param throttles tokens by throttle key, in which {@code {tenant}} is the tenant's name
   * @param service how long its work takes
   */
  public record Tenant(
      String path,
      String name,
      int weight,
      int count,
      int priority,
      SortedMap<String, Long> throttles,
      Distribution service,
      ArrivalProcess arrivals) {
    /** Returns the name of a member, numbered from 1 to {@link #count}. */
    String member(int number) {
      return Scenario.member(name, count, number);
    }
  }

  /**
   * A caller of a model, or several identical ones.
   *
   * @param path its place in the file
   * @param used the part of a grant that a call uses
   * @param deadline the longest wait; null: unlimited
   */
  record Caller(
      String path,
      String name,
      String model,
      String priority,
      String tenant,
      int count,
      Distribution tokens,
      Distribution used,
      Distribution callTime,
      @Nullable Duration deadline,
      ArrivalProcess arrivals) {
    String member(int number) {
      return Scenario.member(tenant, count, number);
    }
  }

  private static String member(String name, int count, int number) {
    return count == 1 ? name : name + "-" + number;
  }

  long stepNanos() {
    return Math.max(1, durationNanos / steps);
  }

  /** The rate that a throttle key has: its own, or that of the longest template. */
  Scenario.@Nullable ScenarioLimit throttle(String key) {
    Scenario.ScenarioLimit found = null;
    for (Scenario.ScenarioLimit each : throttles) {
      boolean better =
          found == null
              || (found.isTemplate()
                  && (!each.isTemplate() || each.key().length() > found.key().length()));
      if (each.covers(key) && better) {
        found = each;
      }
    }
    return found;
  }
}
