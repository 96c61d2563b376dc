package dev.sluice.server;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * How one of the wires listens.
 *
 * @param tls null for plain connections
 * @param memory what requests may hold
 * @param pace how slowly they may arrive
 */
record ListenOptions(
    InetSocketAddress address,
    ServerLimits limits,
    @Nullable TlsMaterial tls,
    ServerMemory memory,
    RequestPace pace) {
  ListenOptions(InetSocketAddress address, ServerLimits limits, @Nullable TlsMaterial tls) {
    this(address, limits, tls, ServerMemory.ofHeap(), RequestPace.DEFAULT);
  }

  ListenOptions withMemory(ServerMemory other) {
    return new ListenOptions(address, limits, tls, other, pace);
  }

  ListenOptions withPace(RequestPace other) {
    return new ListenOptions(address, limits, tls, memory, other);
  }

  ListenOptions withPort(int port) {
    InetSocketAddress other = new InetSocketAddress(address.getAddress(), port);
    return new ListenOptions(other, limits, tls, memory, pace);
  }
}
