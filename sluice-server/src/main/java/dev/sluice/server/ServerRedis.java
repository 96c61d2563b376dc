package dev.sluice.server;

import dev.sluice.redis.LimiterOptions;
import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutagePolicy;
import dev.sluice.redis.Rule;
import dev.sluice.redis.SharedLimits;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The Redis through which several servers share their limits.
 *
 * @param url where it is; it may hold a password and is not part of {@link #toString}
 * @param prefix what every key in it begins with
 * @param timeout how long it may take, from 1 ms to 1 minute
 * @param outage what decides while it does not answer
 * @param leased whether servers take tokens in advance, to decide by themselves
 * @param nodes how many servers there are at least
 * @since 0.1
 */
public record ServerRedis(
    String url, String prefix, Duration timeout, OutagePolicy outage, boolean leased, int nodes) {
  private static final String PREFIX = "sluice:";
  private static final Duration TIMEOUT = Duration.ofMillis(100);

  /** Checks what can be checked without a connection, and never tells the URL. */
  public ServerRedis {
    Objects.requireNonNull(outage, "outage");
    if (isNone(url)) {
      throw new IllegalArgumentException("the URL of Redis must not be empty");
    }
    SharedLimits.builder().url(url).prefix(prefix).timeout(timeout).expectedNodes(nodes);
  }

  /**
   * With the usual settings.
   *
   * @param url such as {@code redis://user:password@host:6379}
   * @return the settings
   * @throws IllegalArgumentException if the URL is malformed
   */
  public static ServerRedis at(String url) {
    return new ServerRedis(url, PREFIX, TIMEOUT, OutagePolicy.LOCAL, false, 1);
  }

  /** Whether {@code url} means that there is no Redis. */
  static boolean isNone(String url) {
    return url.isBlank() || url.equals("${REDIS_URL}");
  }

  LimiterOptions options() {
    LimiterOptions exact = LimiterOptions.defaults();
    return leased ? exact.leased() : exact;
  }

  SharedLimits open(LimitsListener listener, List<Rule> remembered, long version) {
    return SharedLimits.builder()
        .url(url)
        .prefix(prefix)
        .timeout(timeout)
        .onOutage(outage)
        .expectedNodes(nodes)
        .listener(listener)
        .rememberedRules(remembered, version)
        .open();
  }

  /** Without the URL. */
  @Override
  public String toString() {
    return "ServerRedis[url=***, prefix=%s, timeout=%s, outage=%s, leased=%s, nodes=%d]"
        .formatted(prefix, timeout, outage, leased, nodes);
  }
}
