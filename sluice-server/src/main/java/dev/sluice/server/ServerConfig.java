package dev.sluice.server;

import dev.sluice.broker.BrokerConfig;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How a server is set up.
 *
 * @param dataDirectory where everything is kept
 * @param listen where it is called
 * @param bootstrapKey a key that allows everything; with one, every request needs a key; null for
 *     none
 * @param tls the certificate it shows; null for none, calls are then not encrypted
 * @param limits how much callers may take up
 * @param telemetry where traces go
 * @param broker how its broker behaves
 * @param governorFile the budgets of models; null for none
 * @param redis through which limits and budgets are shared with other servers; null for its own
 * @since 0.1
 */
public record ServerConfig(
    Path dataDirectory,
    ListenConfig listen,
    @Nullable Secret bootstrapKey,
    @Nullable TlsConfig tls,
    TransportConfig limits,
    TelemetryConfig telemetry,
    BrokerConfig broker,
    @Nullable Path governorFile,
    @Nullable RedisConfig redis) {
  /**
   * On loopback, with the usual ports.
   *
   * @param dataDirectory where everything is kept
   * @return the configuration
   */
  public static ServerConfig defaults(Path dataDirectory) {
    return new ServerConfig(
        dataDirectory,
        ListenConfig.DEFAULTS,
        null,
        null,
        TransportConfig.DEFAULTS,
        TelemetryConfig.NONE,
        BrokerConfig.defaults(),
        null,
        null);
  }

  /**
   * Returns a copy with another address or ports.
   *
   * @param where the address and ports; an address other than loopback requires a bootstrap key
   * @return the configuration
   */
  public ServerConfig withListen(ListenConfig where) {
    return new ServerConfig(
        dataDirectory, where, bootstrapKey, tls, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * Returns a copy that requires API keys.
   *
   * @param key the bootstrap key, which permits everything and is not stored
   * @return the configuration
   */
  public ServerConfig withBootstrapKey(String key) {
    Secret secret = new Secret(key);
    return new ServerConfig(
        dataDirectory, listen, secret, tls, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * Returns a copy with TLS.
   *
   * @param with the server's certificate, and the CA of client certificates, if required
   * @return the configuration
   */
  public ServerConfig withTls(TlsConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, with, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * Returns a copy with other transport limits.
   *
   * @param with the bounds of connections, calls and requests
   * @return the configuration
   */
  public ServerConfig withLimits(TransportConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, with, telemetry, broker, governorFile, redis);
  }

  /**
   * Returns a copy that sends traces.
   *
   * @param with the collector of the traces
   * @return the configuration
   */
  public ServerConfig withTelemetry(TelemetryConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, with, broker, governorFile, redis);
  }

  /**
   * Returns a copy with another configuration of the broker.
   *
   * @param with the configuration; the server replaces its metrics
   * @return the configuration
   */
  public ServerConfig withBroker(BrokerConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, with, governorFile, redis);
  }

  /**
   * Returns a copy with the budgets of a file.
   *
   * @param file a {@code token-budget.json}
   * @return the configuration
   */
  public ServerConfig withGovernorFile(Path file) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, broker, file, redis);
  }

  /**
   * Returns a copy that shares its limits through Redis.
   *
   * @param with the connection to Redis
   * @return the configuration
   */
  public ServerConfig withRedis(RedisConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, broker, governorFile, with);
  }
}
