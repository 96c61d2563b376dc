package dev.sluice.server;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.SharedLimitOptions;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.internal.connection.RedisAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * The Redis through which several servers share their limits, and the budgets and lines of the
 * governor.
 *
 * @param url where it is; it may hold a password and is not part of {@link #toString}
 * @param authorities a file of certificates in PEM, one of which must have signed that of Redis;
 *     null for those that the JVM trusts
 * @param prefix what every key in it begins with; those of the governor with {@code
 *     token-governor:} behind it, or with that alone if this is {@code sluice:}
 * @param timeout how long it may take, from 1 ms to 1 minute
 * @param outage what decides while it does not answer
 * @param leased whether servers take tokens of limits in advance, to decide by themselves
 * @param nodes how many servers there are at least
 * @since 0.1
 */
public record RedisConfig(
    String url,
    @Nullable Path authorities,
    String prefix,
    Duration timeout,
    OutageMode outage,
    boolean leased,
    int nodes) {
  private static final String PREFIX = "sluice:";
  private static final String GOVERNOR_PREFIX = "token-governor:";
  private static final Duration TIMEOUT = Duration.ofMillis(100);

  /** Checks the settings as far as possible without a connection; errors never contain the URL. */
  public RedisConfig {
    Objects.requireNonNull(outage, "outage");
    if (isNone(url)) {
      throw new IllegalArgumentException("the Redis URL must not be empty");
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
  public static RedisConfig at(String url) {
    return new RedisConfig(url, null, PREFIX, TIMEOUT, OutageMode.LOCAL, false, 1);
  }

  /**
   * Returns a copy that trusts the certificates in {@code file} instead of those of the JVM.
   *
   * @param file certificates in PEM
   * @return the settings
   */
  public RedisConfig withAuthorities(Path file) {
    return new RedisConfig(url, file, prefix, timeout, outage, leased, nodes);
  }

  /**
   * Returns a copy with another prefix of the keys in Redis.
   *
   * @param with the prefix of every key
   * @return the settings
   */
  public RedisConfig withPrefix(String with) {
    return new RedisConfig(url, authorities, with, timeout, outage, leased, nodes);
  }

  /**
   * Returns a copy with another timeout.
   *
   * @param with the longest wait for a response of Redis
   * @return the settings
   */
  public RedisConfig withTimeout(Duration with) {
    return new RedisConfig(url, authorities, prefix, with, outage, leased, nodes);
  }

  /**
   * Returns a copy with another outage mode.
   *
   * @param policy the outage mode
   * @return the settings
   */
  public RedisConfig onOutage(OutageMode policy) {
    return new RedisConfig(url, authorities, prefix, timeout, policy, leased, nodes);
  }

  /**
   * Returns a copy with or without token blocks.
   *
   * @param with whether tokens are borrowed in blocks
   * @return the settings
   */
  public RedisConfig withLeases(boolean with) {
    return new RedisConfig(url, authorities, prefix, timeout, outage, with, nodes);
  }

  /**
   * Returns a copy for another number of servers.
   *
   * @param least the smallest number of servers
   * @return the settings
   */
  public RedisConfig withNodes(int least) {
    return new RedisConfig(url, authorities, prefix, timeout, outage, leased, least);
  }

  /** Returns whether the URL contains a password. */
  public boolean hasPassword() {
    return RedisAddress.parse(url).hasPassword();
  }

  /** Returns whether the password is sent over a network in plaintext. */
  public boolean sendsPasswordInPlaintext() {
    return RedisAddress.parse(url).sendsPasswordInPlaintext();
  }

  /** Returns whether {@code url} stands for no Redis. */
  public static boolean isNone(String url) {
    return url.isBlank() || url.equals("${REDIS_URL}");
  }

  private SharedLimitOptions options() {
    SharedLimitOptions exact = SharedLimitOptions.defaults().withOutageMode(outage);
    return leased ? exact.withTokenBlocks() : exact;
  }

  /** Opens the shared limits; {@code cached} hold until Redis has answered. */
  public SharedLimits open(
      OutageListener outages,
      LimitsListener changes,
      SortedMap<String, Limit> cached,
      long version) {
    SharedLimits.Builder limits =
        SharedLimits.builder()
            .url(url)
            .prefix(prefix)
            .timeout(timeout)
            .options(options())
            .expectedNodes(nodes)
            .outageListener(outages)
            .limitsListener(changes)
            .cachedLimits(cached, version);
    return (authorities == null ? limits : limits.trust(authorities)).build();
  }

  /** Returns the store of the shared budgets. */
  BudgetStore.Factory budgets(OutageListener listener) {
    RedisBudgets.Builder budgets =
        RedisBudgets.builder()
            .url(url)
            .prefix(prefix.equals(PREFIX) ? GOVERNOR_PREFIX : prefix + GOVERNOR_PREFIX)
            .timeout(timeout)
            .expectedNodes(nodes)
            .outageMode(outage)
            .outageListener(listener);
    return (authorities == null ? budgets : budgets.trust(authorities)).build();
  }

  /** Without the URL. */
  @Override
  public String toString() {
    return "RedisConfig[url=***, authorities=%s, prefix=%s, timeout=%s, outage=%s, leased=%s, nodes=%d]"
        .formatted(authorities, prefix, timeout, outage, leased, nodes);
  }
}
