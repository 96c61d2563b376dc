package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.redis.connection.ConnectionConfig;
import dev.sluice.redis.connection.RedisAddress;
import dev.sluice.redis.limits.CachedLimits;
import dev.sluice.redis.limits.InMemoryLimits;
import dev.sluice.redis.limits.RedisLimits;
import dev.sluice.redis.limits.SharedLimitsConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Limits that a fleet shares through Redis or Valkey; in memory, with the same API, where no Redis
 * is configured.
 *
 * <p>While Redis does not answer, at the start or later, every limiter follows its {@link
 * OutageMode}, and goes over to Redis by itself as soon as that answers.
 *
 * <pre>{@code
 * try (SharedLimits limits = SharedLimits.connect("redis://localhost:6379")) {
 *   SharedTokenBucket mails = limits.bucket("mails", Limit.perMinute(600));
 *   if (mails.blocking().tryConsume()) {
 *     send(mail);
 *   }
 * }
 * }</pre>
 *
 * @since 0.1
 */
public interface SharedLimits extends AutoCloseable {

  /**
   * Limits in the Redis at {@code url}, with the defaults of the {@link Builder}.
   *
   * @param url as for {@link Builder#url}
   * @return the limits
   * @throws IllegalArgumentException if the URL is malformed
   */
  static SharedLimits connect(String url) {
    return builder().url(url).open();
  }

  /**
   * Limits of this process alone.
   *
   * @return the limits
   */
  static SharedLimits inMemory() {
    return builder().open();
  }

  /**
   * Limits where the environment variable {@code REDIS_URL} says; in memory if it is unset.
   *
   * @return the limits
   * @throws IllegalArgumentException if the URL is malformed
   */
  static SharedLimits fromEnvironment() {
    return builder().url(System.getenv("REDIS_URL")).open();
  }

  /**
   * The way to all settings.
   *
   * @return a new builder
   */
  static Builder builder() {
    return new Builder();
  }

  /**
   * The bucket of that name, exact and with the usual outage policy.
   *
   * @param name what the fleet calls it, not empty
   * @param limit what it allows; the tokens stay if it allowed something else before
   * @return the bucket
   * @throws IllegalArgumentException if no exact units fit the limit
   */
  default SharedTokenBucket bucket(String name, Limit limit) {
    return bucket(name, limit, SharedLimitOptions.defaults());
  }

  /**
   * The bucket of that name.
   *
   * @param name what the fleet calls it, not empty
   * @param limit what it allows; the tokens stay if it allowed something else before
   * @param options how it behaves
   * @return the bucket
   * @throws IllegalArgumentException if no exact units fit the limit
   */
  SharedTokenBucket bucket(String name, Limit limit, SharedLimitOptions options);

  /**
   * The fleet's throttle, exact and with the usual outage policy.
   *
   * @return the throttle
   */
  default SharedThrottle throttle() {
    return throttle(SharedLimitOptions.defaults());
  }

  /**
   * The fleet's throttle.
   *
   * @param options how this view of it behaves
   * @return the throttle
   */
  SharedThrottle throttle(SharedLimitOptions options);

  /**
   * How things stand.
   *
   * @return counts since the start
   */
  SharedLimitsStatus status();

  /** Returns what is out on lease and closes the connection. Does nothing the second time. */
  @Override
  void close();

  /** Settings of shared limits. Not thread-safe. */
  final class Builder {
    private static final String UNSET = "${REDIS_URL}";

    private @Nullable String url;
    private String prefix = "sluice:";
    private Duration timeout = Duration.ofMillis(100);
    private OutageMode outage = OutageMode.LOCAL;
    private int expectedNodes = 1;
    private LimitsListener listener = event -> {};
    private CachedLimits remembered = CachedLimits.NONE;
    private @Nullable Path trust;

    Builder() {}

    /**
     * Where Redis is. Unset by default, which means in memory.
     *
     * @param url {@code redis://[user:password@]host[:port][/database]}, {@code rediss://…} for
     *     TLS, {@code redis-sentinel://host,host/0#master} or {@code redis-cluster://host,host}
     *     ({@code rediss-cluster://…}); null, empty or the literal <code>${REDIS_URL}</code> for in
     *     memory
     * @return this
     * @throws IllegalArgumentException if the URL is malformed
     */
    public Builder url(@Nullable String url) {
      this.url = url == null || url.isBlank() || url.equals(UNSET) ? null : url;
      if (this.url != null) {
        RedisAddress.parse(this.url);
      }
      return this;
    }

    /**
     * What every key in Redis begins with. Default: {@code sluice:}.
     *
     * @param prefix possibly empty; with a hash tag, all keys lie in one slot of a cluster
     * @return this
     */
    public Builder prefix(String prefix) {
      this.prefix = Objects.requireNonNull(prefix, "prefix");
      return this;
    }

    /**
     * How long Redis may take. Default: 100 ms.
     *
     * @param timeout from 1 ms to 1 minute
     * @return this
     */
    public Builder timeout(Duration timeout) {
      this.timeout = ConnectionConfig.requireTimeout(timeout);
      return this;
    }

    /**
     * What limiters do while Redis does not answer. Default: {@link OutageMode#LOCAL}.
     *
     * @param policy for limiters whose options say nothing else
     * @return this
     */
    public Builder onOutage(OutageMode policy) {
      this.outage = Objects.requireNonNull(policy, "policy");
      return this;
    }

    /**
     * Nodes among which a {@link OutageMode#LOCAL} limit is divided at least; what counts until
     * Redis has told how many there are. Default: 1.
     *
     * @param nodes at least 1
     * @return this
     */
    public Builder expectedNodes(int nodes) {
      this.expectedNodes = ConnectionConfig.requireNodes(nodes);
      return this;
    }

    /**
     * Who is told of outages. Default: nobody.
     *
     * @param listener called on a thread of the library; must not block
     * @return this
     */
    public Builder listener(LimitsListener listener) {
      this.listener = Objects.requireNonNull(listener, "listener");
      return this;
    }

    /**
     * The rates and templates that hold until Redis has told its own, for a start while it is down.
     * If Redis has lost what it knew it is told these.
     *
     * @param rules as {@link SharedThrottle#rules} had them
     * @param version as {@link LimitsListener#onRules} had it
     * @return this
     */
    public Builder rememberedRules(List<Rule> rules, long version) {
      this.remembered = new CachedLimits(List.copyOf(rules), version);
      return this;
    }

    /**
     * The authority that the server's certificate must come from. Default: those that the JVM
     * trusts.
     *
     * @param certificates a file of certificates in PEM
     * @return this
     * @throws IllegalArgumentException if it cannot be read
     */
    public Builder trust(Path certificates) {
      this.trust = ConnectionConfig.requireReadable(certificates);
      return this;
    }

    /**
     * Opens the limits; waits for Redis no longer than three seconds, or than the time-out.
     *
     * @return the limits
     */
    public SharedLimits open() {
      return url == null
          ? new InMemoryLimits(remembered, NanoClock.system())
          : RedisLimits.open(
              RedisAddress.parse(url),
              new SharedLimitsConfig(
                  prefix, timeout, outage, expectedNodes, listener, remembered, trust));
    }
  }
}
