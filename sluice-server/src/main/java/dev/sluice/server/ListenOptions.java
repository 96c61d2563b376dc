package dev.sluice.server;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * How one of the wires listens.
 *
 * @param tls null for plain connections
 */
record ListenOptions(
    InetSocketAddress address,
    ServerLimits limits,
    @Nullable TlsMaterial tls,
    ServerMemory memory) {
  ListenOptions(InetSocketAddress address, ServerLimits limits, @Nullable TlsMaterial tls) {
    this(address, limits, tls, ServerMemory.ofHeap());
  }

  ListenOptions withPort(int port) {
    InetSocketAddress other = new InetSocketAddress(address.getAddress(), port);
    return new ListenOptions(other, limits, tls, memory);
  }
}
