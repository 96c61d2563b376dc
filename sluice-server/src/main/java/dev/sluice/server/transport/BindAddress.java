package dev.sluice.server.transport;

import dev.sluice.server.ServerConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.jspecify.annotations.Nullable;

/**
 * The address to listen on. A server without authentication accepts calls of this machine only; one
 * that requires keys, or certificates that it verifies, can listen anywhere.
 */
public final class BindAddress {
  private BindAddress() {}

  public static InetSocketAddress of(ServerConfig config) throws IOException {
    return of(config.listen().host(), config.listen().grpcPort(), knowsCallers(config));
  }

  public static boolean knowsCallers(ServerConfig config) {
    return config.bootstrapKey() != null
        || (config.tls() != null && config.tls().clientCa() != null);
  }

  /**
   * Tries the ports, so that a server that cannot listen touches no data. Another process may still
   * take one before it listens. {@code http} is null if HTTP is off.
   */
  public static void requireFree(InetSocketAddress grpc, @Nullable InetSocketAddress http)
      throws IOException {
    try (ServerSocket first = bound("gRPC", grpc)) {
      assert first.isBound();
      if (http != null) {
        bound("HTTP", http).close();
      }
    }
  }

  private static ServerSocket bound(String wire, InetSocketAddress address) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      socket.setReuseAddress(true);
      socket.bind(address);
      return socket;
    } catch (IOException refused) {
      socket.close();
      throw cannotListen(wire, address, refused);
    }
  }

  /** Says which wire, where, and why. */
  public static IOException cannotListen(
      String wire, InetSocketAddress address, Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String reason = String.valueOf(cause.getMessage());
    String host = address.getHostString();
    return new IOException(
        "cannot listen for %s on %s:%d: %s"
            .formatted(
                wire,
                host.contains(":") ? "[" + host + "]" : host,
                address.getPort(),
                reason.contains("in use") ? "address already in use; " + remedy(wire) : reason),
        failure);
  }

  private static String remedy(String wire) {
    return wire.equals("HTTP")
        ? "set server.http_port (--http-port) to another port, or to off to serve gRPC alone"
        : "set server.grpc_port (--grpc-port) to another port";
  }

  /** Checks the very address that is returned; a name is looked up once. */
  static InetSocketAddress of(String host, int port, boolean knowsCallers) throws IOException {
    InetSocketAddress address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new IOException("the address to listen on is unknown: " + host);
    }
    if (!knowsCallers && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "the address to listen on must be loopback, such as 127.0.0.1, unless there is a"
              + " bootstrap key or callers must show a certificate, but was "
              + host);
    }
    return address;
  }
}
