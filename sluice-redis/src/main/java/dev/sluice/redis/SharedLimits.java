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
 *   if (mails.blocking().tryAcquire()) {
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
    return builder().url(url).build();
  }

  /**
   * Limits of this process alone.
   *
   * @return the limits
   */
  static SharedLimits inMemory() {
    return builder().build();
  }

  /**
   * Limits where the environment variable {@code REDIS_URL} says; in memory if it is unset.
   *
   * @return the limits
   * @throws IllegalArgumentException if the URL is malformed
   */
  static SharedLimits fromEnvironment() {
    return builder().url(System.getenv("REDIS_URL")).build();
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
   * Returns the token bucket of a name, with the options of the builder.
   *
   * @param name the name in the fleet, not empty
   * @param limit the limit; the tokens stay if the bucket had another one before
   * @return the bucket
   * @throws IllegalArgumentException if the limit has no exact representation
   */
  SharedTokenBucket bucket(String name, Limit limit);

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
   * Returns the named limits of the fleet, with the options of the builder.
   *
   * @return the limits
   */
  SharedThrottle throttle();

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
    private SharedLimitOptions options = SharedLimitOptions.defaults();
    private int expectedNodes = 1;
    private OutageListener outageListener = OutageListener.NONE;
    private LimitsListener limitsListener = (limits, version) -> {};
    private CachedLimits cached = CachedLimits.NONE;
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
     * Sets the options of named limits, and of buckets without options of their own. Default:
     * {@link SharedLimitOptions#defaults}.
     *
     * @param options the options
     * @return this
     */
    public Builder options(SharedLimitOptions options) {
      this.options = Objects.requireNonNull(options, "options");
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
     * Sets the listener of outages. Default: none.
     *
     * @param listener called on a library thread; must not block
     * @return this
     */
    public Builder outageListener(OutageListener listener) {
      this.outageListener = Objects.requireNonNull(listener, "listener");
      return this;
    }

    /**
     * Sets the listener of changes of named limits. Default: none.
     *
     * @param listener called on a library thread; must not block
     * @return this
     */
    public Builder limitsListener(LimitsListener listener) {
      this.limitsListener = Objects.requireNonNull(listener, "listener");
      return this;
    }

    /**
     * Sets the named limits that hold until Redis has answered, for a start during an outage. They
     * are restored in Redis if it has lost its limits.
     *
     * @param limits the limits that {@link LimitsListener#limitsChanged} received last
     * @param version the version that it received with them
     * @return this
     */
    public Builder cachedLimits(List<Rule> limits, long version) {
      this.cached = new CachedLimits(List.copyOf(limits), version);
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
    public SharedLimits build() {
      return url == null
          ? new InMemoryLimits(cached, NanoClock.system())
          : RedisLimits.open(
              RedisAddress.parse(url),
              new SharedLimitsConfig(
                  prefix,
                  timeout,
                  options,
                  expectedNodes,
                  outageListener,
                  limitsListener,
                  cached,
                  trust));
    }
  }
}
