package dev.sluice.server;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.redis.OutagePolicy;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Values of settings while they are gathered; {@link SettingsTable} sets every one of them. */
final class SettingsDraft {
  private final Path workingDirectory;

  Path dataDirectory = Path.of("");
  String host = "";
  int grpcPort;
  int httpPort;
  Duration drain = Duration.ZERO;
  @Nullable Secret bootstrapKey;
  @Nullable Path bootstrapKeyFile;
  @Nullable Path certificate;
  @Nullable Path privateKey;
  @Nullable Path clientCa;
  int maxConnections;
  int maxStreams;
  int maxRequestBytes;
  int maxHeaderBytes;
  @Nullable URI otlpEndpoint;
  String serviceName = "";
  int maxMessageBytes;
  long maxInboundBytes;
  long diskReserveBytes;
  Duration syncInterval = Duration.ZERO;
  int hookThreads;
  @Nullable Path governorFile;
  String redisUrl = "";
  @Nullable Path redisAuthorities;
  String redisPrefix = "";
  Duration redisTimeout = Duration.ZERO;
  String redisOutage = "";
  String redisLease = "";
  int redisNodes;
  String logLevel = "";
  String logFormat = "";

  SettingsDraft(Path workingDirectory) {
    this.workingDirectory = workingDirectory;
  }

  /** Checks what no setting can check alone. */
  ServerConfig config() {
    if (maxInboundBytes < maxMessageBytes) {
      throw new SettingsException(
          "broker.max_inbound_bytes must be at least broker.max_message_bytes: %d < %d"
              .formatted(maxInboundBytes, maxMessageBytes));
    }
    return new ServerConfig(
        workingDirectory.resolve(dataDirectory),
        new Listen(host, grpcPort, httpPort),
        key(),
        tls(),
        new ServerLimits(maxConnections, maxStreams, maxRequestBytes, maxHeaderBytes, drain),
        new Telemetry(otlpEndpoint, serviceName),
        BrokerConfig.defaults()
            .withMaxMessageBytes(maxMessageBytes)
            .withMaxInboundBytes(maxInboundBytes)
            .withDiskReserveBytes(diskReserveBytes)
            .withSyncInterval(syncInterval)
            .withHookThreads(hookThreads),
        governorFile == null ? null : workingDirectory.resolve(governorFile),
        redis());
  }

  private @Nullable ServerRedis redis() {
    return ServerRedis.isNone(redisUrl)
        ? null
        : new ServerRedis(
            redisUrl,
            redisAuthorities == null ? null : workingDirectory.resolve(redisAuthorities),
            redisPrefix,
            redisTimeout,
            OutagePolicy.valueOf(redisOutage.toUpperCase(Locale.ROOT)),
            redisLease.equals("on"),
            redisNodes);
  }

  private @Nullable Secret key() {
    if (bootstrapKeyFile == null) {
      return bootstrapKey;
    }
    String origin = "auth.bootstrap_key_file " + bootstrapKeyFile;
    String text = SmallFile.read(workingDirectory.resolve(bootstrapKeyFile), origin);
    return SettingKind.secret().parse(origin, text.strip());
  }

  private @Nullable ServerTls tls() {
    if (certificate == null && privateKey == null && clientCa == null) {
      return null;
    }
    if (certificate == null || privateKey == null) {
      throw new SettingsException(
          "tls.cert_file and tls.key_file must both be set for TLS: %s is missing"
              .formatted(certificate == null ? "tls.cert_file" : "tls.key_file"));
    }
    return new ServerTls(
        workingDirectory.resolve(certificate),
        workingDirectory.resolve(privateKey),
        clientCa == null ? null : workingDirectory.resolve(clientCa));
  }
}
