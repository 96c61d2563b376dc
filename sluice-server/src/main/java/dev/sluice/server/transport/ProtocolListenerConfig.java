package dev.sluice.server.transport;

import dev.sluice.server.ListenConfig;
import dev.sluice.server.TransportConfig;
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
public record ProtocolListenerConfig(
    InetSocketAddress address,
    TransportConfig limits,
    @Nullable ReloadableTls tls,
    MemoryBudgets memory,
    MinimumTransferRate pace,
    Duration handshake) {
  private static final Duration HANDSHAKE = Duration.ofSeconds(20);

  public ProtocolListenerConfig(
      InetSocketAddress address, TransportConfig limits, @Nullable ReloadableTls tls) {
    this(address, limits, tls, MemoryBudgets.ofHeap(), MinimumTransferRate.DEFAULT, HANDSHAKE);
  }

  public ProtocolListenerConfig withMemory(MemoryBudgets other) {
    return new ProtocolListenerConfig(address, limits, tls, other, pace, handshake);
  }

  public ProtocolListenerConfig withPace(MinimumTransferRate other) {
    return new ProtocolListenerConfig(address, limits, tls, memory, other, handshake);
  }

  public ProtocolListenerConfig withHandshake(Duration other) {
    return new ProtocolListenerConfig(address, limits, tls, memory, pace, other);
  }

  /** Returns the options for HTTP; unchanged if HTTP is off, because they are not used then. */
  public ProtocolListenerConfig withHttpPort(ListenConfig where) {
    if (!where.hasHttp()) {
      return this;
    }
    InetSocketAddress other = new InetSocketAddress(address.getAddress(), where.httpPort());
    return new ProtocolListenerConfig(other, limits, tls, memory, pace, handshake);
  }
}
