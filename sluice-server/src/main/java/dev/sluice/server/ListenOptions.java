package dev.sluice.server;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * How one of the wires listens.
 *
 * @param tls null for plain connections
 */
record ListenOptions(InetSocketAddress address, ServerLimits limits, @Nullable TlsMaterial tls) {
  ListenOptions withPort(int port) {
    return new ListenOptions(new InetSocketAddress(address.getAddress(), port), limits, tls);
  }
}
