package dev.sluice.server.config;

import dev.sluice.server.Secret;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Every setting there is: readers, {@code --print-config} and the documentation go by it. */
public final class SettingsCatalog {
  public static final Setting<Secret> BOOTSTRAP_KEY =
      new Setting<>(
          "auth.bootstrap_key",
          null,
          SettingType.secret(),
          null,
          "A key that allows everything, in visible ASCII; with one, every request needs a key.",
          (draft, value) -> draft.bootstrapKey = value);

  public static final Setting<Path> BOOTSTRAP_KEY_FILE =
      new Setting<>(
          "auth.bootstrap_key_file",
          null,
          SettingType.path(),
          null,
          "A file that has the bootstrap key, instead of `auth.bootstrap_key`.",
          (draft, value) -> draft.bootstrapKeyFile = value);

  static final Setting<String> REDIS_URL =
      new Setting<>(
          "redis.url",
          null,
          SettingType.redisUrl(),
          null,
          "The Redis or Valkey through which servers share their limits and the governor's budgets;"
              + " without it they are this server's alone.",
          (draft, value) -> draft.redisUrl = value);

  private static final int MAX_PORT = 65_535;
  private static final int MAX_NODES = 100_000;
  private static final int MILLION = 1_000_000;
  private static final int KIBIBYTE = 1 << 10;
  private static final int MEBIBYTE = 1 << 20;

  /** As many digits as {@link SettingType} reads. */
  private static final long MAX_LONG = 999_999_999_999_999_999L;

  public static final List<Setting<?>> ALL =
      List.of(
          new Setting<>(
              "server.data_dir",
              "--data",
              SettingType.path(),
              "sluice-data",
              "The data directory: queues, limits, API keys and journals.",
              (draft, value) -> draft.dataDirectory = value),
          new Setting<>(
              "server.host",
              "--host",
              SettingType.text(),
              "127.0.0.1",
              "The address to listen on; only loopback, unless API keys or client certificates are"
                  + " required.",
              (draft, value) -> draft.host = value),
          new Setting<>(
              "server.grpc_port",
              "--grpc-port",
              SettingType.integer(0, MAX_PORT),
              "5555",
              "The port of gRPC; 0 for any.",
              (draft, value) -> draft.grpcPort = value),
          new Setting<>(
              "server.http_port",
              "--http-port",
              SettingType.portOrOff(MAX_PORT),
              "8080",
              "The port of HTTP; 0 for any, off for gRPC alone.",
              (draft, value) -> draft.httpPort = value),
          new Setting<>(
              "server.drain_timeout",
              null,
              SettingType.duration("0s", "1h"),
              "10s",
              "The time that open calls have to end when the server stops.",
              (draft, value) -> draft.drain = value),
          BOOTSTRAP_KEY,
          BOOTSTRAP_KEY_FILE,
          new Setting<>(
              "tls.cert_file",
              null,
              SettingType.path(),
              null,
              "PEM certificates, the server's first; with them every call is encrypted.",
              (draft, value) -> draft.certificate = value),
          new Setting<>(
              "tls.key_file",
              null,
              SettingType.path(),
              null,
              "The private key of `tls.cert_file`, unencrypted PEM: PKCS #8, PKCS #1 or SEC1.",
              (draft, value) -> draft.privateKey = value),
          new Setting<>(
              "tls.client_ca_file",
              null,
              SettingType.path(),
              null,
              "PEM certificates; clients must present a certificate that one of these has signed.",
              (draft, value) -> draft.clientCa = value),
          new Setting<>(
              "transport.max_connections",
              null,
              SettingType.integer(1, MILLION),
              "10000",
              "Open connections, of gRPC and of HTTP each; at most one for each 192 KiB of heap.",
              (draft, value) -> draft.maxConnections = value),
          new Setting<>(
              "transport.max_streams_per_connection",
              null,
              SettingType.integer(1, MILLION),
              "10000",
              "Concurrent calls on one gRPC connection.",
              (draft, value) -> draft.maxStreams = value),
          new Setting<>(
              "transport.max_request_bytes",
              null,
              SettingType.integer(KIBIBYTE, KIBIBYTE * MEBIBYTE),
              "25165824",
              "The largest request, over gRPC and HTTP.",
              (draft, value) -> draft.maxRequestBytes = value),
          new Setting<>(
              "transport.max_header_bytes",
              null,
              SettingType.integer(KIBIBYTE, MEBIBYTE),
              "16384",
              "The largest total size of the headers of a request.",
              (draft, value) -> draft.maxHeaderBytes = value),
          new Setting<>(
              "telemetry.otlp_endpoint",
              null,
              SettingType.url(),
              null,
              "An OTLP collector over HTTP for traces; without it no traces are sent.",
              (draft, value) -> draft.otlpEndpoint = value),
          new Setting<>(
              "telemetry.service_name",
              null,
              SettingType.text(),
              "sluice",
              "The name of this server in traces.",
              (draft, value) -> draft.serviceName = value),
          new Setting<>(
              "broker.max_message_bytes",
              null,
              SettingType.integer(1, 256 * MEBIBYTE),
              "16777216",
              "The largest message, payload and headers together.",
              (draft, value) -> draft.maxMessageBytes = value),
          new Setting<>(
              "broker.max_inbound_bytes",
              null,
              SettingType.wholeNumber(1, (long) MEBIBYTE * MEBIBYTE),
              "67108864",
              "The most bytes of messages that are being enqueued; beyond it, calls are refused. At"
                  + " least one message; at most a 16th of the heap, or one request.",
              (draft, value) -> draft.maxInboundBytes = value),
          new Setting<>(
              "broker.disk_reserve_bytes",
              null,
              SettingType.wholeNumber(0, MAX_LONG),
              "536870912",
              "With less free space messages are refused, but not acks; 0: never.",
              (draft, value) -> draft.diskReserveBytes = value),
          new Setting<>(
              "broker.sync_interval",
              null,
              SettingType.duration("1ms", "1h"),
              "100ms",
              "The longest time until fsync for queues with durability `INTERVAL`.",
              (draft, value) -> draft.syncInterval = value),
          new Setting<>(
              "broker.hook_threads",
              null,
              SettingType.integer(0, KIBIBYTE),
              "0",
              "Threads that run the hooks of all queues; 0 for half of the processors, at least"
                  + " one.",
              (draft, value) -> draft.hookThreads = value),
          new Setting<>(
              "governor.file",
              null,
              SettingType.path(),
              null,
              "A `token-budget.json`: the budgets of models; without it no model has a budget.",
              (draft, value) -> draft.governorFile = value),
          REDIS_URL,
          new Setting<>(
              "redis.ca_file",
              null,
              SettingType.path(),
              null,
              "PEM certificates that may have signed that of Redis; by default, those that Java"
                  + " trusts.",
              (draft, value) -> draft.redisAuthorities = value),
          new Setting<>(
              "redis.prefix",
              null,
              SettingType.text(),
              "sluice:",
              "The prefix of the keys of limits in Redis; one other than the default also precedes"
                  + " those of the governor.",
              (draft, value) -> draft.redisPrefix = value),
          new Setting<>(
              "redis.timeout",
              null,
              SettingType.duration("1ms", "1m"),
              "100ms",
              "The time Redis has to answer; after that `redis.outage_mode` decides.",
              (draft, value) -> draft.redisTimeout = value),
          new Setting<>(
              "redis.outage_mode",
              null,
              SettingType.oneOf("open", "closed", "local"),
              "local",
              "During an outage of Redis: grant all, grant nothing, or grant this server's share.",
              (draft, value) -> draft.redisOutage = value),
          new Setting<>(
              "redis.token_blocks",
              null,
              SettingType.oneOf("off", "on"),
              "off",
              "Borrows tokens in blocks, so that most decisions need no round trip to Redis.",
              (draft, value) -> draft.redisLease = value),
          new Setting<>(
              "redis.expected_nodes",
              null,
              SettingType.integer(1, MAX_NODES),
              "1",
              "The smallest number of nodes among which outage mode `local` divides a limit.",
              (draft, value) -> draft.redisNodes = value),
          new Setting<>(
              "log.level",
              null,
              SettingType.oneOf("trace", "debug", "info", "warn", "error"),
              "info",
              "The level of the server's log; libraries log only warnings and errors.",
              (draft, value) -> draft.logLevel = value),
          new Setting<>(
              "log.format",
              null,
              SettingType.oneOf("text", "json"),
              "text",
              "Lines of text or of JSON, on stderr.",
              (draft, value) -> draft.logFormat = value));

  private static final Map<String, Setting<?>> BY_NAME =
      ALL.stream().collect(Collectors.toMap(Setting::name, Function.identity()));

  private SettingsCatalog() {}

  static @Nullable Setting<?> find(String name) {
    return BY_NAME.get(name);
  }

  static Setting<?> named(String name) {
    Setting<?> setting = BY_NAME.get(name);
    if (setting == null) {
      throw new IllegalArgumentException("unknown setting: " + name);
    }
    return setting;
  }

  /** The names that begin so, for messages. */
  static String namesIn(String section) {
    return ALL.stream()
        .filter(each -> each.section().equals(section))
        .map(Setting::name)
        .collect(Collectors.joining(", "));
  }

  static String sections() {
    return ALL.stream().map(Setting::section).distinct().collect(Collectors.joining(", "));
  }
}
