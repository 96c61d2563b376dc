package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.store.RedisBudgetStore;
import dev.sluice.governor.redis.store.RedisBudgetsConfig;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.connection.ConnectionConfig;
import dev.sluice.redis.connection.RedisAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Budgets and lines that all governors of a fleet share through Redis or Valkey.
 *
 * <pre>{@code
 * try (Governor governor = Governor.builder(config).store(RedisBudgets.connect("redis://localhost:6379")).build()) {
 *   Outcome outcome = governor.request("sonnet", 4_000, "P1_user");
 * }
 * }</pre>
 *
 * <p>A ticket that was taken at one node can be awaited at any other. All nodes should have the
 * same configuration: the one that was loaded last holds for the fleet.
 *
 * <p>While Redis is away requests go by the {@link Builder#outageMode outage mode}: by default each
 * node decides by its share of every limit, from empty, which Redis reserves for it. Requests are
 * granted or queued as in a single process, by priority, and callers that wait for a ticket go on
 * waiting. On return the node reports what is open; nothing is charged. Settlements of what Redis
 * granted are kept and sent on return. A request that Redis did not answer before the outage was
 * declared is refused as {@link dev.sluice.governor.TokenDecision.Reason#UNAVAILABLE}. Other calls
 * that need Redis fail with {@link RedisUnavailableException}.
 *
 * <p>Futures may complete on a thread of the connection, which must not be blocked, except for
 * those of callers that wait for a ticket.
 *
 * @since 0.1
 */
public final class RedisBudgets {
  private static final long SPREAD_NANOS = 3_000_000;

  private RedisBudgets() {}

  /**
   * Creates a factory of stores in the Redis at {@code url}, with the defaults of the {@link
   * Builder}.
   *
   * @param url as for {@link Builder#url}
   * @return the factory
   * @throws IllegalArgumentException if the URL is malformed
   */
  public static BudgetStore.Factory connect(String url) {
    return builder().url(url).build();
  }

  /**
   * Creates a builder.
   *
   * @return a builder with the default settings
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Settings of budgets in Redis. Not thread-safe. */
  public static final class Builder {
    private @Nullable RedisAddress address;
    private String prefix = "token-governor:";
    private Duration timeout = Duration.ofMillis(100);
    private int expectedNodes = 1;
    private OutageMode policy = OutageMode.LOCAL;
    private OutageListener outageListener = OutageListener.NONE;
    private @Nullable Path trust;
    private Supplier<StoreTimer> timers = StoreTimer::system;
    private LongSupplier spreadNanos = () -> ThreadLocalRandom.current().nextLong(SPREAD_NANOS);

    private Builder() {}

    /**
     * Sets the URL of Redis.
     *
     * @param url {@code redis://[user:password@]host[:port][/database]}, {@code rediss://…} for
     *     TLS, {@code redis-sentinel://host,host/0#master} or {@code redis-cluster://host,host}
     *     ({@code rediss-cluster://…})
     * @return this
     * @throws IllegalArgumentException if the URL is malformed
     */
    public Builder url(String url) {
      this.address = RedisAddress.parse(url);
      return this;
    }

    /**
     * Sets the prefix of all keys in Redis. Default: {@code token-governor:}.
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
     * How many nodes the fleet has at least: among so many budgets are divided if Redis is away
     * from the start. Default: 1.
     *
     * @param nodes at least 1
     * @return this
     */
    public Builder expectedNodes(int nodes) {
      this.expectedNodes = ConnectionConfig.requireNodes(nodes);
      return this;
    }

    /**
     * Sets the mode that decides while Redis is unavailable. Default: {@link OutageMode#LOCAL}.
     *
     * @param policy for all models
     * @return this
     */
    public Builder outageMode(OutageMode policy) {
      this.policy = Objects.requireNonNull(policy, "policy");
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

    /** Another time, at which lines are looked at exactly when they should be. */
    Builder timer(StoreTimer timer) {
      this.timers = () -> timer;
      this.spreadNanos = () -> 0;
      return this;
    }

    /**
     * Opens stores that wait for Redis no longer than three seconds, or than the time-out, and
     * degrade and recover by themselves.
     *
     * @return for {@link dev.sluice.governor.Governor#over}
     * @throws IllegalStateException if there is no URL
     */
    public BudgetStore.Factory build() {
      if (address == null) {
        throw new IllegalStateException("url must be set");
      }
      RedisBudgetsConfig fleet =
          new RedisBudgetsConfig(
              address, prefix, timeout, trust, expectedNodes, policy, outageListener, spreadNanos);
      Supplier<StoreTimer> clock = timers;
      return (config, told) -> RedisBudgetStore.open(fleet, clock.get(), config, told);
    }
  }
}
