package dev.sluice.server.config;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.InvalidSettingsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Maps {@code fila.toml} and fila's environment variables to settings of Sluice. */
public final class FilaSettings {
  public static final String DATA_VARIABLE = "FILA_DATA_DIR";
  public static final String KEY_VARIABLE = "FILA_BOOTSTRAP_APIKEY";

  /** The default data directory of fila. */
  private static final String DEFAULT_DATA = "data";

  private static final Map<String, String> SAME =
      Map.of(
          "auth.bootstrap_apikey", "auth.bootstrap_key",
          "tls.cert_file", "tls.cert_file",
          "tls.key_file", "tls.key_file",
          "tls.ca_file", "tls.client_ca_file",
          "telemetry.otlp_endpoint", "telemetry.otlp_endpoint",
          "telemetry.service_name", "telemetry.service_name");

  /** They tune the inside of fila; storage and delivery do not depend on them. */
  private static final Set<String> WITHOUT_MEANING =
      Set.of(
          "scheduler.command_channel_capacity",
          "scheduler.idle_timeout_ms",
          "scheduler.quantum",
          "lua.default_timeout_ms",
          "lua.default_memory_limit_bytes",
          "lua.circuit_breaker_threshold",
          "lua.circuit_breaker_cooldown_ms",
          "telemetry.metrics_interval_ms",
          "cluster.enabled",
          "cluster.node_id",
          "cluster.peers",
          "cluster.bind_addr",
          "cluster.election_timeout_ms",
          "cluster.heartbeat_interval_ms",
          "cluster.snapshot_threshold",
          "cluster.replication_factor");

  /** The most unknown keys that a warning names, so that its line stays short. */
  private static final int MAX_NAMED = 20;

  /** Host and port; the host of IPv6 in brackets. */
  private static final Pattern ADDRESS =
      Pattern.compile("(?:\\[([0-9a-fA-F:.]+)\\]|([^:\\[\\]\\s]+)):([0-9]{1,5})");

  private final List<String> warnings = new ArrayList<>();

  public static boolean isMeant(Map<String, String> environment) {
    return environment.containsKey(DATA_VARIABLE) || environment.containsKey(KEY_VARIABLE);
  }

  /** Lines for the log, once everything is read. */
  public List<String> warnings() {
    return List.copyOf(warnings);
  }

  /** A null file is none; the environment counts before the file. */
  public SettingsLayer read(@Nullable Path file, Map<String, String> environment) {
    SettingsLayer layer = new SettingsLayer();
    layer.put(SettingsCatalog.named("server.data_dir"), DATA_VARIABLE, DEFAULT_DATA);
    // fila has one port; a second one might be in use, or open to unexpected callers.
    layer.put(
        SettingsCatalog.named("server.http_port"), "the default beside fila's settings", "off");
    if (file != null) {
      layer.override(readFile(file));
    }
    SettingsLayer variables = new SettingsLayer();
    putVariable(variables, "server.data_dir", DATA_VARIABLE, environment);
    putVariable(variables, "auth.bootstrap_key", KEY_VARIABLE, environment);
    layer.override(variables);
    return layer;
  }

  private static void putVariable(
      SettingsLayer layer, String name, String variable, Map<String, String> environment) {
    String value = environment.get(variable);
    if (value != null) {
      layer.put(SettingsCatalog.named(name), variable, value);
    }
  }

  private SettingsLayer readFile(Path file) {
    SettingsLayer layer = new SettingsLayer();
    List<String> ignored = new ArrayList<>();
    List<String> unknown = new ArrayList<>();
    Map<String, JsonNode> values = TomlSettings.values(file, unknown::add);
    values.forEach(
        (name, value) -> {
          String origin = TomlSettings.origin(file, name);
          String same = SAME.get(name);
          if (same != null) {
            TomlSettings.put(layer, SettingsCatalog.named(same), origin, value);
          } else if (name.equals("server.listen_addr")) {
            putAddress(layer, origin, value);
          } else {
            refuseMisleading(origin, name, value);
            (WITHOUT_MEANING.contains(name) ? ignored : unknown).add(name);
          }
        });
    warn(file, values, ignored);
    warnOfUnknown(file, unknown);
    return layer;
  }

  private static void putAddress(SettingsLayer layer, String origin, JsonNode value) {
    Matcher matcher = ADDRESS.matcher(value.asText());
    if (!value.isTextual() || !matcher.matches()) {
      throw new InvalidSettingsException(
          "%s must be an address and a port in quotes, such as \"127.0.0.1:5555\", but was %s"
              .formatted(origin, SettingType.shown(value.toString())));
    }
    String host = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
    layer.put(SettingsCatalog.named("server.host"), origin, host);
    layer.put(SettingsCatalog.named("server.grpc_port"), origin, matcher.group(3));
  }

  private static void refuseMisleading(String origin, String name, JsonNode value) {
    if (name.equals("server.binary_addr")) {
      throw new InvalidSettingsException(
          origin + " must not be set: fila's binary protocol is not spoken here");
    }
    if (name.equals("cluster.enabled") && !(value.isBoolean() && !value.booleanValue())) {
      throw new InvalidSettingsException(
          "%s must be false, because there is one node, but was %s"
              .formatted(origin, SettingType.shown(value.toString())));
    }
  }

  /** Warns instead of refusing: fila ignores keys that it does not know, such as newer ones. */
  private void warnOfUnknown(Path file, List<String> names) {
    if (!names.isEmpty()) {
      String first =
          names.stream().limit(MAX_NAMED).map(SettingType::shown).collect(Collectors.joining(", "));
      String more =
          names.size() > MAX_NAMED ? " and %d more".formatted(names.size() - MAX_NAMED) : "";
      warnings.add(
          "%s: unknown keys without effect: %s%s; keys of Sluice belong in a sluice.toml"
              .formatted(file, first, more));
    }
  }

  private void warn(Path file, Map<String, JsonNode> values, List<String> ignored) {
    if (!ignored.isEmpty()) {
      warnings.add(file + ": keys without effect here: " + String.join(", ", ignored));
    }
    if (!values.containsKey("server.listen_addr")) {
      warnings.add(file + ": no server.listen_addr; this is 127.0.0.1:5555 here, not 0.0.0.0:5555");
    }
    if (values.containsKey("telemetry.otlp_endpoint")) {
      warnings.add(
          file + ": telemetry.otlp_endpoint takes OTLP over HTTP here (often port 4318), not gRPC");
    }
  }
}
