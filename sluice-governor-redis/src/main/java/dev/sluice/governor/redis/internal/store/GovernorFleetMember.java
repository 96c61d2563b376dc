package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.internal.connection.ConnectionConfig;
import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.connection.RedisErrorLog;
import dev.sluice.redis.internal.connection.RedisFailure;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The membership of this node in the fleet, for all its models. */
public final class GovernorFleetMember implements AutoCloseable, FleetConnection.Member {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final String THREADS = "sluice-budgets";
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final RedisBudgetsConfig config;
  private final RedisErrorLog refusals = RedisErrorLog.create();
  private final AtomicLong refusedNanos = new AtomicLong(System.nanoTime() - SECOND_NANOS);
  private final AtomicLong grantedLocally = new AtomicLong();
  private final String node;
  private final FleetConnection connection;
  private volatile Supplier<Collection<RedisModelStore>> modelStores = List::of;

  /** Whether this node was a member: then Redis has reserved its share. */
  private volatile boolean member;

  /** Whether this node started without Redis, and may have granted tokens. */
  private volatile boolean startedWithoutRedis;

  /** Creates the connection to a fleet; simulations replace it. */
  @FunctionalInterface
  public interface Opening {
    FleetConnection open(
        ConnectionConfig connection, MembershipConfig membership, FleetConnection.Member member);
  }

  GovernorFleetMember(RedisBudgetsConfig config) {
    this(
        config,
        RandomIds.newNode(),
        (connection, membership, member) ->
            new FleetConnection(config.address(), connection, membership, member));
  }

  public GovernorFleetMember(RedisBudgetsConfig config, String node, Opening opening) {
    this.config = config;
    this.node = node;
    this.connection =
        opening.open(
            new ConnectionConfig(
                config.timeout(), config.trust(), List.of(GovernorScript.values()), THREADS),
            new MembershipConfig(
                node,
                List.of(ModelKeys.members(config.prefix())),
                config.expectedNodes(),
                ModelKeys.schema(config.prefix()),
                MembershipConfig.Timing.DEFAULTS),
            this);
    if (config.outageMode() == OutageMode.LOCAL) {
      connection.claimShare();
    }
  }

  /** Notifies these model stores of outages. */
  void serve(Supplier<Collection<RedisModelStore>> all) {
    modelStores = all;
  }

  /** Opens the connection; returns when Redis decides, or when the start has timed out. */
  void start() {
    connection.start();
  }

  public FleetConnection connection() {
    return connection;
  }

  String node() {
    return node;
  }

  RedisBudgetsConfig config() {
    return config;
  }

  ModelKeys keys(String model) {
    return ModelKeys.of(config.prefix(), model);
  }

  /** Returns the time of Redis, as far as it is known. */
  long serverNanos() {
    return connection.serverNanos();
  }

  /** Returns whether the outage mode decides. */
  boolean isOut() {
    return connection.state() == ConnectionState.OUT;
  }

  /** Returns whether this node's share decides. */
  boolean isLocal() {
    return config.outageMode() == OutageMode.LOCAL && isOut();
  }

  boolean startedWithoutRedis() {
    return startedWithoutRedis;
  }

  /** Counts tokens that were granted without Redis. */
  void grantedLocally(long tokens) {
    grantedLocally.addAndGet(tokens);
  }

  /** Returns the answer of a store in this process, which is complete at once. */
  static <T> T now(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  /** Returns the failure of an operation that is stored here and sent to Redis later. */
  static RedisUnavailableException storedForLater(String operation) {
    return new RedisUnavailableException(
        "Redis does not answer; stored here and sent later: " + operation, null);
  }

  // ---- callbacks of the connection

  /** Sends everything that Redis has not confirmed; no caller waits for it. */
  @Override
  public CompletableFuture<Void> seen(MembersView view) {
    if (connection.state().asksRedis()) {
      var unused = all(RedisModelStore::sendAgain);
    }
    return CompletableFuture.allOf();
  }

  @Override
  public void lost(String cause) {
    startedWithoutRedis = !member;
    double share =
        config.outageMode() == OutageMode.LOCAL
            ? new BudgetShare(connection.share()).fraction()
            : 0;
    LOG.warn("budgets: outage started, this node has {} of every budget: {}", share, cause);
    notifyListener(() -> config.outageListener().outageStarted(cause, share));
  }

  @Override
  public void alone() {
    modelStores.get().forEach(RedisModelStore::decideLocally);
  }

  /**
   * If Redis refuses the report of one model, or the part of a cluster that has it does not answer,
   * calls about this model fail until its report is accepted; the other models go on.
   */
  @Override
  public CompletableFuture<Void> report() {
    boolean cluster = config.address().cluster();
    return all(
        store ->
            store
                .report()
                .handle(
                    (reported, failure) -> {
                      if (failure != null
                          && !cluster
                          && RedisFailure.of(failure) != RedisFailure.REFUSED) {
                        throw new CompletionException(failure);
                      }
                      return true;
                    }));
  }

  private CompletableFuture<Void> all(Function<RedisModelStore, CompletableFuture<?>> work) {
    return CompletableFuture.allOf(
        modelStores.get().stream().map(work).toArray(CompletableFuture<?>[]::new));
  }

  @Override
  public void connected(Optional<Duration> outage) {
    member = true;
    startedWithoutRedis = false;
    long granted = grantedLocally.getAndSet(0);
    outage.ifPresent(
        away -> {
          LOG.info(
              "budgets: outage ended after {} ms; this node granted {} tokens",
              away.toMillis(),
              granted);
          notifyListener(() -> config.outageListener().outageEnded(away, granted));
        });
    modelStores.get().forEach(RedisModelStore::check);
    var unused = all(RedisModelStore::sendAgain);
  }

  /** Notifies the listener at most once a second. */
  @Override
  public void refused(String error) {
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.warn("budgets: Redis returned an error: {} ({} not logged before)", text, leftOut));
    long last = refusedNanos.get();
    long now = System.nanoTime();
    if (now - last >= SECOND_NANOS && refusedNanos.compareAndSet(last, now)) {
      notifyListener(() -> config.outageListener().redisError(error));
    }
  }

  private void notifyListener(Runnable message) {
    connection.execute(
        () -> {
          try {
            message.run();
          } catch (RuntimeException failure) {
            LOG.warn("a listener of budgets failed", failure);
          }
        });
  }

  @Override
  public void close() {
    connection.close();
  }
}
