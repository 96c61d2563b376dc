package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Loopback;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * A server to attack, and the keys that its operator has given to the attackers.
 *
 * @param grpc a loopback address
 * @param http a loopback address
 * @param powerlessKey valid, without any permission
 * @param tenantKeys of one tenant, each with produce, consume, limit and admin on {@code evil.*}
 */
public record Target(
    InetSocketAddress grpc, InetSocketAddress http, String powerlessKey, List<String> tenantKeys) {
  /** The prefix of the names of the hostile tenant's queues and limits. */
  public static final String TENANT = "evil.";

  /** Refuses addresses of other machines. */
  public Target {
    Loopback.requireLoopback(grpc);
    Loopback.requireLoopback(http);
    tenantKeys = List.copyOf(tenantKeys);
    if (tenantKeys.isEmpty()) {
      throw new IllegalArgumentException("tenantKeys must not be empty");
    }
  }

  /** A server on this machine. */
  public static Target local(
      int grpcPort, int httpPort, String powerlessKey, List<String> tenantKeys) {
    InetAddress here = InetAddress.getLoopbackAddress();
    return new Target(
        new InetSocketAddress(here, grpcPort),
        new InetSocketAddress(here, httpPort),
        powerlessKey,
        tenantKeys);
  }
}
