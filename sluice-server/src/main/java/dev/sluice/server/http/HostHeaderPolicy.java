package dev.sluice.server.http;

import dev.sluice.server.ServerConfig;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.transport.BindAddress;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which {@code Host} a request may name. A site can let its own name stand for this machine (DNS
 * rebinding), and a browser then takes what a server answers here for that site's; but it sends
 * that name along. A server that knows its callers takes any name: without a key or certificate
 * such a page gets nothing.
 */
public final class HostHeaderPolicy {
  private static final Pattern PORT = Pattern.compile(":\\d*$");
  private static final Pattern LOOPBACK = Pattern.compile("127(\\.\\d{1,3}){3}");

  private final boolean any;
  private final String configured;
  private final Set<String> names;

  private HostHeaderPolicy(boolean any, String configured) {
    this.any = any;
    this.configured = configured;
    String literal = configured.contains(":") ? "[" + configured + "]" : configured;
    this.names = new HashSet<>(List.of("localhost", "[::1]", lower(literal)));
  }

  public static HostHeaderPolicy of(ServerConfig config) {
    return new HostHeaderPolicy(BindAddress.knowsCallers(config), config.listen().host());
  }

  /** Every {@code Host} of a request; a request without one is from no browser. */
  public void require(@Nullable Collection<String> hosts) {
    if (any || hosts == null) {
      return;
    }
    for (String host : hosts) {
      String name = lower(PORT.matcher(host).replaceFirst(""));
      if (!names.contains(name) && !LOOPBACK.matcher(name).matches()) {
        throw new ApiException(
            ErrorKind.PERMISSION_DENIED,
            "without API keys, Host must be localhost, a loopback address or %s, but was %s"
                .formatted(configured, host));
      }
    }
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
