package dev.sluice.server;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How one of the wires listens.
 *
 * @param tls null for plain connections
 * @param memory what requests may hold
 * @param pace how slowly they may arrive
 * @param handshake how long a handshake of TLS or HTTP/2 may take
 */
record ListenOptions(
    InetSocketAddress address,
    ServerLimits limits,
    @Nullable LiveTls tls,
    ServerMemory memory,
    RequestPace pace,
    Duration handshake) {
  private static final Duration HANDSHAKE = Duration.ofSeconds(20);

  ListenOptions(InetSocketAddress address, ServerLimits limits, @Nullable LiveTls tls) {
    this(address, limits, tls, ServerMemory.ofHeap(), RequestPace.DEFAULT, HANDSHAKE);
  }

  ListenOptions withMemory(ServerMemory other) {
    return new ListenOptions(address, limits, tls, other, pace, handshake);
  }

  ListenOptions withPace(RequestPace other) {
    return new ListenOptions(address, limits, tls, memory, other, handshake);
  }

  ListenOptions withHandshake(Duration other) {
    return new ListenOptions(address, limits, tls, memory, pace, other);
  }

  /** Returns the options for HTTP; unchanged if HTTP is off, because they are not used then. */
  ListenOptions withHttpPort(Listen where) {
    if (!where.hasHttp()) {
      return this;
    }
    InetSocketAddress other = new InetSocketAddress(address.getAddress(), where.httpPort());
    return new ListenOptions(other, limits, tls, memory, pace, handshake);
  }
}
