package dev.sluice.server.config;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.redis.OutageMode;
import dev.sluice.server.InvalidSettingsException;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.RedisConfig;
import dev.sluice.server.Secret;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.TelemetryConfig;
import dev.sluice.server.TlsConfig;
import dev.sluice.server.TransportConfig;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Values of settings while they are gathered; {@link SettingsCatalog} sets every one of them. */
public final class ServerConfigBuilder {
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
  public String logLevel = "";
  public String logFormat = "";

  public ServerConfigBuilder(Path workingDirectory) {
    this.workingDirectory = workingDirectory;
  }

  /** Checks rules over several settings. */
  public ServerConfig config() {
    if (maxInboundBytes < maxMessageBytes) {
      throw new InvalidSettingsException(
          "broker.max_inbound_bytes must be at least broker.max_message_bytes: %d < %d"
              .formatted(maxInboundBytes, maxMessageBytes));
    }
    return new ServerConfig(
        workingDirectory.resolve(dataDirectory),
        new ListenConfig(host, grpcPort, httpPort),
        key(),
        tls(),
        new TransportConfig(maxConnections, maxStreams, maxRequestBytes, maxHeaderBytes, drain),
        new TelemetryConfig(otlpEndpoint, serviceName),
        BrokerConfig.builder()
            .maxMessageBytes(maxMessageBytes)
            .maxInboundBytes(maxInboundBytes)
            .diskReserveBytes(diskReserveBytes)
            .syncInterval(syncInterval)
            .hookThreads(hookThreads)
            .build(),
        governorFile == null ? null : workingDirectory.resolve(governorFile),
        redis());
  }

  private @Nullable RedisConfig redis() {
    return RedisConfig.isNone(redisUrl)
        ? null
        : new RedisConfig(
            redisUrl,
            redisAuthorities == null ? null : workingDirectory.resolve(redisAuthorities),
            redisPrefix,
            redisTimeout,
            OutageMode.valueOf(redisOutage.toUpperCase(Locale.ROOT)),
            redisLease.equals("on"),
            redisNodes);
  }

  private @Nullable Secret key() {
    if (bootstrapKeyFile == null) {
      return bootstrapKey;
    }
    String origin = "auth.bootstrap_key_file " + bootstrapKeyFile;
    String text = ConfigFileReader.read(workingDirectory.resolve(bootstrapKeyFile), origin);
    return SettingType.secret().parse(origin, text.strip());
  }

  private @Nullable TlsConfig tls() {
    if (certificate == null && privateKey == null && clientCa == null) {
      return null;
    }
    if (certificate == null || privateKey == null) {
      throw new InvalidSettingsException(
          "tls.cert_file and tls.key_file must both be set for TLS: %s is missing"
              .formatted(certificate == null ? "tls.cert_file" : "tls.key_file"));
    }
    return new TlsConfig(
        workingDirectory.resolve(certificate),
        workingDirectory.resolve(privateKey),
        clientCa == null ? null : workingDirectory.resolve(clientCa));
  }
}
