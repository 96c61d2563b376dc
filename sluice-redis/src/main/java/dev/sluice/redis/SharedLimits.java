package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.NanoClock;
import dev.sluice.redis.internal.connection.ConnectionConfig;
import dev.sluice.redis.internal.connection.RedisAddress;
import dev.sluice.redis.internal.limits.CachedLimits;
import dev.sluice.redis.internal.limits.CostChecks;
import dev.sluice.redis.internal.limits.Futures;
import dev.sluice.redis.internal.limits.InMemoryLimits;
import dev.sluice.redis.internal.limits.RedisLimits;
import dev.sluice.redis.internal.limits.SharedLimitsConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Named limits and token buckets that a fleet shares through Redis or Valkey; in memory, with the
 * same methods, if no Redis is configured.
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
 * <p>Named limits belong to the fleet: a limit that is set on one node holds there at once, on all
 * nodes within about a second, and outlasts the node. While nodes know different limits, the newest
 * one applies. A name that ends in {@code *} is a template: every name that begins with its prefix,
 * and has no limit of its own, has a bucket with the limit of the longest matching template. A name
 * without a limit passes. All names of a request are charged, or none, in one round trip. Named
 * limits and buckets have separate names.
 *
 * <p>In a cluster, all names of a request must be in one slot, as with a common hash tag ({@code
 * {acme}:requests} and {@code {acme}:bytes}); other requests throw {@link
 * IllegalArgumentException}, unless {@link SharedLimitOptions#withCrossSlotRequests} is set.
 *
 * <p>Thread-safe. Decisions complete within the timeout: without an answer from Redis, the {@link
 * OutageMode} decides. Other operations fail with {@link RedisUnavailableException}. Futures
 * complete on a library thread; dependents that block need an executor of their own. Implemented by
 * Sluice only; may gain methods.
 *
 * @since 0.1
 */
public interface SharedLimits extends AutoCloseable {

  /**
   * Connects to the Redis at {@code url}, with the defaults of the {@link Builder}.
   *
   * @param url as for {@link Builder#url}
   * @return the limits
   * @throws IllegalArgumentException if the URL is malformed
   */
  static SharedLimits connect(String url) {
    return builder().url(url).build();
  }

  /**
   * Creates limits of this process alone.
   *
   * @return the limits
   */
  static SharedLimits inMemory() {
    return builder().build();
  }

  /**
   * Connects to the Redis at the environment variable {@code REDIS_URL}; creates limits in memory
   * if it is unset.
   *
   * @return the limits
   * @throws IllegalArgumentException if the URL is malformed
   */
  static SharedLimits fromEnvironment() {
    return builder().url(System.getenv("REDIS_URL")).build();
  }

  /**
   * Creates a builder.
   *
   * @return a builder with the default settings
   */
  static Builder builder() {
    return new Builder();
  }

  /**
   * Sets the limit of a name, or of a template, for the fleet.
   *
   * <p>The tokens of a bucket stay, up to the new capacity. In an outage the limit holds on this
   * node at once, and for the fleet when Redis answers again.
   *
   * @param name a name, or a template such as {@code tenant:*}
   * @param limit balanced, fractional or {@link Limit.DenyAll}
   * @return completes when the limit is stored, or noted in an outage; fails with {@link
   *     RedisUnavailableException} if Redis did not confirm it: then it holds on this node and is
   *     sent again
   * @throws IllegalArgumentException if the name is empty or has an asterisk besides the one at its
   *     end, or the limit is {@code Strict} or {@code Manual} or has no exact representation
   * @throws IllegalStateException if the fleet has 10,000 limits already
   */
  CompletableFuture<Void> set(String name, Limit limit);

  /**
   * Removes the limit of a name, or of a template.
   *
   * <p>Its buckets take the limit of the next matching template; without one, their names pass.
   *
   * @param name as it was set
   * @return whether there was such a limit
   */
  CompletableFuture<Boolean> remove(String name);

  /**
   * Returns the named limits that this node knows, templates included.
   *
   * @return the limits by name, unmodifiable
   */
  SortedMap<String, Limit> limits();

  /**
   * Takes one token of a name if it is available.
   *
   * @param name not empty
   * @return whether the token was taken, or the name has no limit
   */
  default CompletableFuture<Boolean> tryAcquire(String name) {
    return tryAcquire(Map.of(name, 1L));
  }

  /**
   * Takes one token of each name if all are available; takes nothing otherwise.
   *
   * @param names not empty each; duplicates count once
   * @return whether the tokens were taken
   */
  default CompletableFuture<Boolean> tryAcquire(Collection<String> names) {
    return tryAcquire(CostChecks.oneOfEach(names));
  }

  /**
   * Takes the cost of each name if all are available; takes nothing otherwise.
   *
   * @param costs whole tokens by name, at least 1 each
   * @return whether the tokens were taken
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  CompletableFuture<Boolean> tryAcquire(Map<String, Long> costs);

  /**
   * Takes tokens of one name now or not at all, and returns the full answer.
   *
   * @param name not empty
   * @param tokens at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is less than 1 or the name is empty
   */
  CompletableFuture<Decision> decide(String name, long tokens);

  /**
   * Takes the cost of each name now or nothing at all, and returns the full answer.
   *
   * @param costs whole tokens by name, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  CompletableFuture<Decision> decide(Map<String, Long> costs);

  /**
   * Returns the decision that {@link #decide(Map)} would make now, without taking tokens.
   *
   * @param costs whole tokens by name, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  CompletableFuture<Decision> peek(Map<String, Long> costs);

  /**
   * Returns the state of one name.
   *
   * @param name not empty
   * @return empty if the name has no limit
   */
  CompletableFuture<Optional<LimitStats>> stats(String name);

  // ---- buckets

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
   * Returns the token bucket of a name.
   *
   * @param name the name in the fleet, not empty
   * @param limit the limit; the tokens stay if the bucket had another one before
   * @param options outage mode and token blocks
   * @return the bucket
   * @throws IllegalArgumentException if the limit has no exact representation
   */
  SharedTokenBucket bucket(String name, Limit limit, SharedLimitOptions options);

  /**
   * Returns the state of the connection, and counters since the start.
   *
   * @return the status
   */
  SharedLimitsStatus status();

  /**
   * Returns a view whose methods wait for their results.
   *
   * @return the view
   */
  default Blocking blocking() {
    return new Blocking(this);
  }

  /** Returns token blocks to Redis and closes the connection. Has no effect the second time. */
  @Override
  void close();

  /**
   * Named limits whose methods wait for their results, for at most the timeout. Thread-safe.
   *
   * @since 0.1
   */
  final class Blocking {
    private final SharedLimits limits;

    Blocking(SharedLimits limits) {
      this.limits = limits;
    }

    /**
     * Sets the limit of a name, as {@link SharedLimits#set}.
     *
     * @param name a name, or a template such as {@code tenant:*}
     * @param limit balanced, fractional or {@link Limit.DenyAll}
     * @throws RedisUnavailableException if Redis did not confirm it
     */
    public void set(String name, Limit limit) {
      Futures.done(limits.set(name, limit));
    }

    /**
     * Removes the limit of a name, as {@link SharedLimits#remove}.
     *
     * @param name as it was set
     * @return whether there was such a limit
     * @throws RedisUnavailableException if Redis did not confirm it
     */
    public boolean remove(String name) {
      return Futures.await(limits.remove(name));
    }

    /**
     * Takes one token of a name, as {@link SharedLimits#tryAcquire(String)}.
     *
     * @param name not empty
     * @return whether the token was taken, or the name has no limit
     */
    public boolean tryAcquire(String name) {
      return Futures.await(limits.tryAcquire(name));
    }

    /**
     * Takes one token of each name, as {@link SharedLimits#tryAcquire(Collection)}.
     *
     * @param names not empty each; duplicates count once
     * @return whether the tokens were taken
     */
    public boolean tryAcquire(Collection<String> names) {
      return Futures.await(limits.tryAcquire(names));
    }

    /**
     * Takes the cost of each name, as {@link SharedLimits#tryAcquire(Map)}.
     *
     * @param costs whole tokens by name, at least 1 each
     * @return whether the tokens were taken
     */
    public boolean tryAcquire(Map<String, Long> costs) {
      return Futures.await(limits.tryAcquire(costs));
    }

    /**
     * Takes tokens of one name, as {@link SharedLimits#decide(String, long)}.
     *
     * @param name not empty
     * @param tokens at least 1
     * @return the decision
     */
    public Decision decide(String name, long tokens) {
      return Futures.await(limits.decide(name, tokens));
    }

    /**
     * Takes the cost of each name, as {@link SharedLimits#decide(Map)}.
     *
     * @param costs whole tokens by name, at least 1 each
     * @return the decision
     */
    public Decision decide(Map<String, Long> costs) {
      return Futures.await(limits.decide(costs));
    }

    /**
     * Returns the decision without taking tokens, as {@link SharedLimits#peek}.
     *
     * @param costs whole tokens by name, at least 1 each
     * @return the decision
     */
    public Decision peek(Map<String, Long> costs) {
      return Futures.await(limits.peek(costs));
    }

    /**
     * Returns the state of one name, as {@link SharedLimits#stats}.
     *
     * @param name not empty
     * @return empty if the name has no limit
     * @throws RedisUnavailableException if Redis does not answer
     */
    public Optional<LimitStats> stats(String name) {
      return Futures.await(limits.stats(name));
    }
  }

  /**
   * Settings of shared limits. Not thread-safe.
   *
   * @since 0.1
   */
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
     * Sets the URL of Redis. Default: none, which means in memory.
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
     * Sets the prefix of all keys in Redis. Default: {@code sluice:}.
     *
     * @param prefix may be empty; with a hash tag, all keys are in one slot of a cluster
     * @return this
     */
    public Builder prefix(String prefix) {
      this.prefix = Objects.requireNonNull(prefix, "prefix");
      return this;
    }

    /**
     * Sets how long a call to Redis may take. Default: 100 ms.
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
     * Sets the smallest number of nodes among which outage mode {@link OutageMode#LOCAL} divides a
     * limit, and the number until Redis has answered for the first time. Default: 1.
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
    public Builder cachedLimits(SortedMap<String, Limit> limits, long version) {
      this.cached = new CachedLimits(limits, version);
      return this;
    }

    /**
     * Sets the certificates of the authority that signed the server's certificate. Default: the
     * authorities that the JVM trusts.
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
     * Connects; waits for Redis for at most three seconds, or the timeout if that is longer.
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
