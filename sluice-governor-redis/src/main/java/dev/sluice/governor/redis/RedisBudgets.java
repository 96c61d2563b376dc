package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.internal.store.RedisBudgetStore;
import dev.sluice.governor.redis.internal.store.RedisBudgetsConfig;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.internal.connection.ConnectionConfig;
import dev.sluice.redis.internal.connection.RedisAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Budgets and waiting lists that the governors of a fleet share through Redis or Valkey.
 *
 * <pre>{@code
 * BudgetStore.Factory store = RedisBudgets.connect("redis://localhost:6379");
 * try (Governor governor = Governor.builder(config).store(store).build()) {
 *   governor.acquire(TokenRequest.of("sonnet", 4_000)).thenAccept(decision -> start(decision));
 * }
 * }</pre>
 *
 * <p>A ticket of one node can be awaited on any other. All nodes should have the same
 * configuration: the one that was loaded last applies to the fleet.
 *
 * <p>During an outage, requests follow the {@link Builder#outageMode outage mode}. In mode {@code
 * LOCAL}, each node decides by the share of every limit that Redis reserves for it, starting empty:
 * requests are granted or queued as in a single process, by priority class, and callers continue to
 * wait for their tickets. When Redis answers again, the node reports its open grants; nothing is
 * charged afterwards. Settlements of grants of Redis are stored and sent later. A request without
 * an answer is denied with {@link dev.sluice.governor.TokenDecision.Reason#UNAVAILABLE} until the
 * outage is declared. Other calls that need Redis fail with {@link RedisUnavailableException}.
 *
 * <p>Factories are thread-safe. A factory connects when the governor opens it, and waits for at
 * most three seconds, or the timeout if that is longer. Futures may complete on a thread of the
 * connection, which must not be blocked, except for those of callers that wait for a ticket.
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
    private OutageMode outageMode = OutageMode.LOCAL;
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
     * Sets the smallest number of nodes among which outage mode {@link OutageMode#LOCAL} divides a
     * budget, and the number until Redis has answered for the first time. Default: 1.
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
     * @param mode for all models
     * @return this
     */
    public Builder outageMode(OutageMode mode) {
      this.outageMode = Objects.requireNonNull(mode, "mode");
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

    /** Sets a timer for tests; waiting lists are then polled exactly when they are due. */
    Builder timer(StoreTimer timer) {
      this.timers = () -> timer;
      this.spreadNanos = () -> 0;
      return this;
    }

    /**
     * Creates the factory.
     *
     * @return the factory, for a {@link dev.sluice.governor.Governor}
     * @throws IllegalStateException if there is no URL
     */
    public BudgetStore.Factory build() {
      if (address == null) {
        throw new IllegalStateException("url must be set");
      }
      RedisBudgetsConfig fleet =
          new RedisBudgetsConfig(
              address,
              prefix,
              timeout,
              trust,
              expectedNodes,
              outageMode,
              outageListener,
              spreadNanos);
      Supplier<StoreTimer> clock = timers;
      return (config, listener) -> RedisBudgetStore.open(fleet, clock.get(), config, listener);
    }
  }
}
