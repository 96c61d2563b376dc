package dev.sluice.server.operations;

import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerView;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.support.ApiException;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The configuration that hooks read, which needs {@code admin} on {@code *}, and the limits of
 * throttle keys: setting one needs the same, seeing one needs {@code read} on its name.
 */
public final class AdminOperations {
  /** The most entries that one call lists. */
  public static final int MAX_LISTED = 10_000;

  private static final String THROTTLE = "throttle.";

  private final Broker broker;
  private final ServerInfo info;

  /**
   * The version and start time of the server.
   *
   * @param version of the build
   * @param startedAtMs in milliseconds since 1970
   */
  public record ServerInfo(String version, long startedAtMs) {}

  public AdminOperations(Broker broker, ServerInfo info) {
    this.broker = broker;
    this.info = info;
  }

  public void setConfig(Caller caller, String key, String value) {
    caller.requireAdminOfAll();
    broker.setConfig(key, value);
  }

  public String config(Caller caller, String key) {
    caller.requireAdminOfAll();
    return broker.config(key).orElseThrow(() -> unknown("configuration", key));
  }

  public void removeConfig(Caller caller, String key) {
    caller.requireAdminOfAll();
    if (broker.config(key).isEmpty()) {
      throw unknown("configuration", key);
    }
    broker.removeConfig(key);
  }

  /** The first {@link #MAX_LISTED} whose key begins with {@code prefix}. */
  public SortedMap<String, String> listConfig(Caller caller, String prefix) {
    caller.requireAdminOfAll();
    SortedMap<String, String> found = new TreeMap<>();
    for (Map.Entry<String, String> entry : broker.config().tailMap(prefix).entrySet()) {
      if (!entry.getKey().startsWith(prefix) || found.size() == MAX_LISTED) {
        break;
      }
      found.put(entry.getKey(), entry.getValue());
    }
    return found;
  }

  public void setThrottle(Caller caller, String key, double ratePerSecond, double burst) {
    caller.requireAdminOfAll();
    broker.setLimit(key, Limit.ofRate(ratePerSecond, burst));
  }

  public void removeThrottle(Caller caller, String key) {
    caller.requireAdminOfAll();
    if (broker.config(THROTTLE + key).isEmpty()) {
      throw unknown("throttle", key);
    }
    broker.removeLimit(key);
  }

  /** Returns the limits that the caller may read; fails if the caller may read none. */
  public List<LimitStats> throttles(Caller caller) {
    caller.requireSome(Kind.READ);
    return broker.view().limitStats().limits().stream()
        .filter(each -> caller.may(Kind.READ, each.name()))
        .toList();
  }

  /** Returns the limits that the caller may read; fails if the caller may read none. */
  public BrokerView.LimitsSnapshot viewThrottles(Caller caller) {
    caller.requireSome(Kind.READ);
    BrokerView.LimitsSnapshot found = broker.view().limitStats();
    return new BrokerView.LimitsSnapshot(
        found.at(),
        found.limits().stream().filter(each -> caller.may(Kind.READ, each.name())).toList());
  }

  /** Returns the first messages that wait for it, in queues that the caller may read. */
  public List<LimitStats.Waiter> waiters(Caller caller, String key, int limit) {
    caller.require(Kind.READ, key);
    QueueOperations.requireBetween("limit", limit, 1, BrokerView.MAX_KEYS);
    if (broker.config(THROTTLE + key).isEmpty()) {
      throw unknown("throttle", key);
    }
    return broker.view().waiters(key, limit).stream()
        .filter(
            each ->
                QueueAuthorization.may(
                    caller, Kind.READ, each.queue(), queue -> broker.queue(queue).isPresent()))
        .toList();
  }

  /** Returns facts about the server, for every caller. */
  public ServerInfo info() {
    return info;
  }

  private static ApiException unknown(String what, String key) {
    return ApiException.notFound("unknown %s: %s".formatted(what, key));
  }
}
