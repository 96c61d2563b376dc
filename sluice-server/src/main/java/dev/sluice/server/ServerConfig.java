package dev.sluice.server;

import java.nio.file.Path;

/**
 * How a server is set up; docs/operations.md lists every key.
 *
 * @param dataDirectory where everything is kept
 * @param grpcHost the address that gRPC listens on
 * @param grpcPort its port; 0 for any
 * @since 0.1
 */
public record ServerConfig(Path dataDirectory, String grpcHost, int grpcPort) {
  /**
   * On loopback, with the usual ports.
   *
   * @param dataDirectory where everything is kept
   * @return the configuration
   */
  public static ServerConfig defaults(Path dataDirectory) {
    return new ServerConfig(dataDirectory, "127.0.0.1", 5555);
  }

  /**
   * The same on other ports.
   *
   * @param grpc the port of gRPC; 0 for any
   * @return the configuration
   */
  public ServerConfig withPorts(int grpc) {
    return new ServerConfig(dataDirectory, grpcHost, grpc);
  }
}
