package dev.sluice.server;

import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Where to listen: only this machine may call a server that lets in everybody. One that asks for
 * keys, or for certificates that it verifies, knows its callers.
 */
final class BindAddress {
  private BindAddress() {}

  static InetSocketAddress of(ServerConfig config) throws IOException {
    boolean knowsCallers =
        config.bootstrapKey() != null || (config.tls() != null && config.tls().clientCa() != null);
    return of(config.listen().host(), config.listen().grpcPort(), knowsCallers);
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
              + " bootstrap key or callers must show a certificate: "
              + host);
    }
    return address;
  }
}
