package dev.sluice.server;

/**
 * Where a server is called.
 *
 * @param host the address that gRPC and HTTP listen on
 * @param grpcPort the port of gRPC; 0 for any
 * @param httpPort the port of HTTP; 0 for any, {@link #OFF} for no HTTP
 * @since 0.1
 */
public record ListenConfig(String host, int grpcPort, int httpPort) {
  /** The value of {@code httpPort} that turns HTTP off. */
  public static final int OFF = -1;

  /** Loopback, with the usual ports. */
  public static final ListenConfig DEFAULTS = new ListenConfig("127.0.0.1", 5555, 8080);

  /** Loopback, on any ports that are free. */
  public static final ListenConfig ANYWHERE = new ListenConfig("127.0.0.1", 0, 0);

  private static final int MAX_PORT = 65_535;

  /** Checks the ports. */
  public ListenConfig {
    requirePort("gRPC", grpcPort);
    if (httpPort != OFF) {
      requirePort("HTTP", httpPort);
    }
  }

  private static void requirePort(String of, int port) {
    if (port < 0 || port > MAX_PORT) {
      throw new IllegalArgumentException(
          "the port of %s must be from 0 to %d, but was %d".formatted(of, MAX_PORT, port));
    }
  }

  /**
   * Returns a copy with another address.
   *
   * @param newHost the address
   * @return where to listen
   */
  public ListenConfig withHost(String newHost) {
    return new ListenConfig(newHost, grpcPort, httpPort);
  }

  /**
   * Returns a copy with another gRPC port.
   *
   * @param port 0 for any
   * @return where to listen
   */
  public ListenConfig withGrpcPort(int port) {
    return new ListenConfig(host, port, httpPort);
  }

  /**
   * Returns a copy with another HTTP port.
   *
   * @param port 0 for any, {@link #OFF} for no HTTP
   * @return where to listen
   */
  public ListenConfig withHttpPort(int port) {
    return new ListenConfig(host, grpcPort, port);
  }

  /**
   * Returns whether the server answers HTTP.
   *
   * @return false if the port is {@link #OFF}
   */
  public boolean hasHttp() {
    return httpPort != OFF;
  }
}
