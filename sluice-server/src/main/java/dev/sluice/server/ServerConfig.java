package dev.sluice.server;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How a server is set up.
 *
 * @param dataDirectory where everything is kept
 * @param host the address that gRPC and HTTP listen on
 * @param grpcPort the port of gRPC; 0 for any
 * @param httpPort the port of HTTP; 0 for any
 * @param bootstrapKey a key that allows everything; with one, every request needs a key; null for
 *     none
 * @since 0.1
 */
public record ServerConfig(
    Path dataDirectory, String host, int grpcPort, int httpPort, @Nullable Secret bootstrapKey) {
  /**
   * On loopback, with the usual ports.
   *
   * @param dataDirectory where everything is kept
   * @return the configuration
   */
  public static ServerConfig defaults(Path dataDirectory) {
    return new ServerConfig(dataDirectory, "127.0.0.1", 5555, 8080, null);
  }

  /**
   * The same, with gRPC on another port and HTTP on any.
   *
   * @param grpc the port of gRPC; 0 for any
   * @return the configuration
   */
  public ServerConfig withPorts(int grpc) {
    return new ServerConfig(dataDirectory, host, grpc, 0, bootstrapKey);
  }

  /**
   * The same, with HTTP on another port.
   *
   * @param http the port of HTTP; 0 for any
   * @return the configuration
   */
  public ServerConfig withHttpPort(int http) {
    return new ServerConfig(dataDirectory, host, grpcPort, http, bootstrapKey);
  }

  /**
   * The same, listening elsewhere.
   *
   * @param newHost the address; other than loopback only with a bootstrap key
   * @return the configuration
   */
  public ServerConfig withHost(String newHost) {
    return new ServerConfig(dataDirectory, newHost, grpcPort, httpPort, bootstrapKey);
  }

  /**
   * The same, asking for keys.
   *
   * @param key allows everything, and is not stored
   * @return the configuration
   */
  public ServerConfig withBootstrapKey(String key) {
    return new ServerConfig(dataDirectory, host, grpcPort, httpPort, new Secret(key));
  }
}
