package dev.sluice.redis.internal.connection;

import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where Redis is.
 *
 * @param uris one, or several nodes of a cluster
 * @param cluster whether it is a cluster
 * @since 0.1
 */
public record RedisAddress(List<RedisURI> uris, boolean cluster) {
  private static final int MAX_PORT = 65_535;

  /** A name, or an address with no colon or, by version 6, several; one is of a port unread. */
  private static final Pattern HOST = Pattern.compile("[^\\s:@]+|[^\\s@]*:[^\\s@]*:[^\\s@]*");

  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(\\.\\d+){3}|\\[?::1]?", Pattern.CASE_INSENSITIVE);

  private static final String CLUSTER = "redis-cluster://";
  private static final String TLS_CLUSTER = "rediss-cluster://";
  private static final List<String> SCHEMES =
      List.of("redis://", "rediss://", "redis-sentinel://", "rediss-sentinel://");

  /**
   * Parses a URL.
   *
   * @throws IllegalArgumentException if it is malformed; the message does not quote it
   */
  public static RedisAddress parse(String url) {
    String text = url.strip();
    try {
      if (text.startsWith(CLUSTER)) {
        return cluster("redis://", text.substring(CLUSTER.length()));
      }
      if (text.startsWith(TLS_CLUSTER)) {
        return cluster("rediss://", text.substring(TLS_CLUSTER.length()));
      }
      if (SCHEMES.stream().anyMatch(text::startsWith)) {
        return new RedisAddress(List.of(uri(text)), false);
      }
    } catch (IllegalArgumentException malformed) {
      // Without the URL and without the cause, which quotes it: it may hold a password.
      throw malformed();
    }
    throw malformed();
  }

  /**
   * Returns whether connections log in with a password.
   *
   * @return true if every node is given one
   */
  public boolean hasPassword() {
    return uris.stream().allMatch(RedisAddress::hasPassword);
  }

  /**
   * Returns whether a password is sent over a network in plaintext.
   *
   * @return true if a node beyond loopback gets a password without TLS
   */
  public boolean sendsPasswordInPlaintext() {
    return uris.stream()
        .anyMatch(uri -> !uri.isSsl() && !isLoopback(uri) && RedisAddress.hasPassword(uri));
  }

  private static boolean isLoopback(RedisURI uri) {
    return uri.getSentinels().isEmpty()
        ? LOOPBACK.matcher(uri.getHost()).matches()
        : uri.getSentinels().stream().allMatch(RedisAddress::isLoopback);
  }

  private static boolean hasPassword(RedisURI uri) {
    // Of a URL they are known at once: nothing is waited for.
    @Nullable RedisCredentials login = uri.getCredentialsProvider().resolveCredentials().block();
    return login != null && login.hasPassword();
  }

  private static RedisURI uri(String text) {
    RedisURI uri = RedisURI.create(text);
    if (uri.getSentinels().isEmpty() ? !isComplete(uri) : !isCompleteSentinel(uri)) {
      throw malformed();
    }
    return uri;
  }

  private static boolean isComplete(RedisURI uri) {
    @Nullable String host = uri.getHost();
    return host != null
        && HOST.matcher(host).matches()
        && uri.getPort() > 0
        && uri.getPort() <= MAX_PORT;
  }

  private static boolean isCompleteSentinel(RedisURI uri) {
    @Nullable String master = uri.getSentinelMasterId();
    return master != null
        && !master.isBlank()
        && uri.getSentinels().stream().allMatch(RedisAddress::isComplete);
  }

  private static IllegalArgumentException malformed() {
    return new IllegalArgumentException(
        "the Redis URL must be redis://, rediss://, redis-sentinel://, redis-cluster:// or"
            + " rediss-cluster:// with a host");
  }

  /** User and password stand before the first host and hold for all. */
  private static RedisAddress cluster(String scheme, String rest) {
    int at = rest.lastIndexOf('@');
    String login = rest.substring(0, at + 1);
    List<RedisURI> nodes = new ArrayList<>();
    for (String host : rest.substring(at + 1).split(",", -1)) {
      nodes.add(uri(scheme + login + host));
    }
    return new RedisAddress(List.copyOf(nodes), true);
  }

  /** Without user and password. */
  @Override
  public String toString() {
    return uris.stream()
        .map(uri -> uri.getSentinels().isEmpty() ? where(uri) : "sentinels of " + masterOf(uri))
        .toList()
        .toString();
  }

  private static String where(RedisURI uri) {
    return uri.getHost() + ":" + uri.getPort();
  }

  private static String masterOf(RedisURI uri) {
    return String.valueOf(uri.getSentinelMasterId());
  }
}
