package dev.sluice.server;

import dev.sluice.ThrottleStats;
import dev.sluice.broker.Broker;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** What scripts and throttle keys are configured by: checks the caller, asks the broker. */
final class ConfigApi {
  static final int MAX_KEY_BYTES = 256;

  /** More entries are not listed. */
  static final int MAX_LISTED = 10_000;

  private final Broker broker;

  ConfigApi(Broker broker) {
    this.broker = broker;
  }

  /** An empty value takes the key away. */
  void set(Caller caller, String key, String value) {
    requireKey(caller, key);
    if (value.isEmpty()) {
      broker.removeConfig(key);
    } else {
      broker.setConfig(key, value);
    }
  }

  /** Empty if there is none. */
  String get(Caller caller, String key) {
    requireKey(caller, key);
    return broker.config(key).orElse("");
  }

  /** Those whose key begins with {@code prefix}, in order. */
  SortedMap<String, String> list(Caller caller, String prefix) {
    caller.requireAdminOfAll();
    requireBytes("prefix", prefix);
    SortedMap<String, String> found = new TreeMap<>();
    broker.config().tailMap(prefix).entrySet().stream()
        .takeWhile(each -> each.getKey().startsWith(prefix))
        .limit(MAX_LISTED)
        .forEach(each -> found.put(each.getKey(), each.getValue()));
    return found;
  }

  List<ThrottleStats> throttles(Caller caller) {
    caller.requireAdminOfAll();
    return broker.throttles();
  }

  private static void requireKey(Caller caller, String key) {
    if (key.isEmpty()) {
      throw ApiException.invalid("key must not be empty");
    }
    caller.requireAdminOfAll();
    requireBytes("key", key);
  }

  private static void requireBytes(String name, String text) {
    QueueApi.requireBetween(
        "bytes of " + name, text.getBytes(StandardCharsets.UTF_8).length, 0, MAX_KEY_BYTES);
  }
}
