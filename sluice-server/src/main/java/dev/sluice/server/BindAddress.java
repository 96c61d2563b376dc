package dev.sluice.server;

import java.io.IOException;
import java.net.InetSocketAddress;

/** Where to listen: only this machine may call a server that asks for no keys. */
final class BindAddress {
  private BindAddress() {}

  static InetSocketAddress of(ServerConfig config) throws IOException {
    return of(config.listen().host(), config.listen().grpcPort(), config.bootstrapKey() != null);
  }

  /** Checks the very address that is returned; a name is looked up once. */
  static InetSocketAddress of(String host, int port, boolean needsKeys) throws IOException {
    InetSocketAddress address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new IOException("the address to listen on is unknown: " + host);
    }
    if (!needsKeys && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "the address to listen on must be loopback, such as 127.0.0.1, unless there is a"
              + " bootstrap key: "
              + host);
    }
    return address;
  }
}
