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
   * The same, listening elsewhere.
   *
   * @param where address and ports; other than loopback only with a bootstrap key
   * @return the configuration
   */
  public ServerConfig withListen(ListenConfig where) {
    return new ServerConfig(
        dataDirectory, where, bootstrapKey, tls, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * The same, asking for keys.
   *
   * @param key allows everything, and is not stored
   * @return the configuration
   */
  public ServerConfig withBootstrapKey(String key) {
    Secret secret = new Secret(key);
    return new ServerConfig(
        dataDirectory, listen, secret, tls, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * The same, encrypted.
   *
   * @param with what it shows, and whether callers must show one too
   * @return the configuration
   */
  public ServerConfig withTls(TlsConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, with, limits, telemetry, broker, governorFile, redis);
  }

  /**
   * The same, with other limits.
   *
   * @param with how much callers may take up
   * @return the configuration
   */
  public ServerConfig withLimits(TransportConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, with, telemetry, broker, governorFile, redis);
  }

  /**
   * The same, with traces.
   *
   * @param with where they go
   * @return the configuration
   */
  public ServerConfig withTelemetry(TelemetryConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, with, broker, governorFile, redis);
  }

  /**
   * The same, with another broker.
   *
   * @param with how it behaves; its metrics are the server's
   * @return the configuration
   */
  public ServerConfig withBroker(BrokerConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, with, governorFile, redis);
  }

  /**
   * The same, with other budgets of models.
   *
   * @param file a {@code token-budget.json}
   * @return the configuration
   */
  public ServerConfig withGovernorFile(Path file) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, broker, file, redis);
  }

  /**
   * The same, sharing its limits.
   *
   * @param with the Redis through which it does
   * @return the configuration
   */
  public ServerConfig withRedis(RedisConfig with) {
    return new ServerConfig(
        dataDirectory, listen, bootstrapKey, tls, limits, telemetry, broker, governorFile, with);
  }
}
