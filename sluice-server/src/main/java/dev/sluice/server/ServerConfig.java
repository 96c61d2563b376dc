package dev.sluice.server;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How a server is set up; docs/operations.md lists every key.
 *
 * @param dataDirectory where everything is kept
 * @param grpcHost the address that gRPC listens on
 * @param grpcPort its port; 0 for any
 * @param httpHost the address that HTTP listens on
 * @param httpPort its port; 0 for any
 * @param bootstrapKey a key that allows everything; with one, every request needs a key; null for
 *     none
 * @since 0.1
 */
public record ServerConfig(
    Path dataDirectory,
    String grpcHost,
    int grpcPort,
    String httpHost,
    int httpPort,
    @Nullable Secret bootstrapKey) {
  /**
   * On loopback, with the usual ports.
   *
   * @param dataDirectory where everything is kept
   * @return the configuration
   */
  public static ServerConfig defaults(Path dataDirectory) {
    return new ServerConfig(dataDirectory, "127.0.0.1", 5555, "127.0.0.1", 8080, null);
  }

  /**
   * The same, with gRPC on another port and HTTP on any.
   *
   * @param grpc the port of gRPC; 0 for any
   * @return the configuration
   */
  public ServerConfig withPorts(int grpc) {
    return new ServerConfig(dataDirectory, grpcHost, grpc, httpHost, 0, bootstrapKey);
  }

  /**
   * The same, listening elsewhere.
   *
   * @param host the address that gRPC listens on; other than loopback only with a bootstrap key
   * @return the configuration
   */
  public ServerConfig withHost(String host) {
    return new ServerConfig(dataDirectory, host, grpcPort, httpHost, httpPort, bootstrapKey);
  }

  /**
   * The same, asking for keys.
   *
   * @param key allows everything, and is not stored
   * @return the configuration
   */
  public ServerConfig withBootstrapKey(String key) {
    return new ServerConfig(dataDirectory, grpcHost, grpcPort, httpHost, httpPort, new Secret(key));
  }

  /**
   * The same, with HTTP on another port.
   *
   * @param http the port of HTTP; 0 for any
   * @return the configuration
   */
  public ServerConfig withHttpPort(int http) {
    return new ServerConfig(dataDirectory, grpcHost, grpcPort, httpHost, http, bootstrapKey);
  }
}
