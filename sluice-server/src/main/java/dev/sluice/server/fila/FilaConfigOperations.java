package dev.sluice.server.fila;

import dev.sluice.broker.Broker;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.operations.AdminOperations;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import java.nio.charset.StandardCharsets;
import java.util.SortedMap;

/** The configuration as fila has it: empty values are none, and none is no error. */
public final class FilaConfigOperations {
  static final int MAX_KEY_BYTES = 256;

  private final Broker broker;
  private final AdminOperations admin;

  public FilaConfigOperations(Broker broker, AdminOperations admin) {
    this.broker = broker;
    this.admin = admin;
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

  /** Returns the entries whose key begins with {@code prefix}, in order. */
  SortedMap<String, String> list(Caller caller, String prefix) {
    caller.requireAdminOfAll();
    requireBytes("prefix", prefix);
    return admin.listConfig(caller, prefix);
  }

  private static void requireKey(Caller caller, String key) {
    if (key.isEmpty()) {
      throw ApiException.invalid("key must not be empty");
    }
    caller.requireAdminOfAll();
    requireBytes("key", key);
  }

  private static void requireBytes(String name, String text) {
    QueueOperations.requireBetween(
        "bytes of " + name, text.getBytes(StandardCharsets.UTF_8).length, 0, MAX_KEY_BYTES);
  }
}
