package dev.sluice.redis.internal.limits;

import dev.sluice.redis.OutageMode;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.redis.internal.connection.ConnectionConfig;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.connection.RedisAddress;
import dev.sluice.redis.internal.connection.RedisErrorLog;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The part of this node's limits in the fleet: its copy of the rules, and its share in outages. */
public final class LimitsFleetMember implements AutoCloseable, FleetConnection.Member {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final String THREADS = "sluice-redis";

  private final SharedLimitsConfig config;
  private final RedisErrorLog refusals = RedisErrorLog.create();
  private final RedisKeys space;
  private final boolean cluster;
  private final DecisionCounters counts = new DecisionCounters();
  private final FleetConnection connection;
  private final LimitDefinitions book;
  private final DecisionBatcher batches;
  private final AtomicBoolean refreshing = new AtomicBoolean();
  private final AtomicBoolean toldOfRules = new AtomicBoolean(true);

  /** The limits of the outage that goes on; null if none was needed yet. */
  private volatile @Nullable OutageLimits local;

  // Of the thread of the fleet: what was decided in this outage.
  private int keys;
  private long tokens;

  /** Makes the connection of a fleet; simulations put their own in its place. */
  @FunctionalInterface
  public interface ConnectionFactory {
    FleetConnection open(
        ConnectionConfig terms, MembershipConfig membership, FleetConnection.Member member);
  }

  LimitsFleetMember(RedisAddress address, SharedLimitsConfig config, String node) {
    this(
        config,
        node,
        address.cluster(),
        (terms, membership, member) -> new FleetConnection(address, terms, membership, member));
  }

  public LimitsFleetMember(
      SharedLimitsConfig config,
      String node,
      boolean cluster,
      LimitsFleetMember.ConnectionFactory opening) {
    this.config = config;
    this.space = new RedisKeys(config.prefix());
    this.cluster = cluster;
    this.connection =
        opening.open(
            new ConnectionConfig(
                config.timeout(), config.trust(), List.of(LimitScript.values()), THREADS),
            new MembershipConfig(
                node,
                List.of(space.members(), space.rules()),
                config.expectedNodes(),
                space.schema(),
                MembershipConfig.Timing.DEFAULTS),
            this);
    this.book =
        new LimitDefinitions(connection, space, LimitTable.of(config.cached()), this::rulesChanged);
    this.batches = new DecisionBatcher(connection);
    use(config.options().outageMode());
  }

  /** A limiter follows that policy; for {@code LOCAL} Redis has to reserve a share. */
  void use(OutageMode policy) {
    if (policy == OutageMode.LOCAL) {
      connection.claimShare();
    }
  }

  /** Opens the connection; returns when Redis decides, or did not answer. */
  void start() {
    connection.start();
  }

  public FleetConnection connection() {
    return connection;
  }

  LimitDefinitions book() {
    return book;
  }

  DecisionBatcher batches() {
    return batches;
  }

  public RedisKeys space() {
    return space;
  }

  DecisionCounters counts() {
    return counts;
  }

  boolean isCluster() {
    return cluster;
  }

  /** Returns whether decisions are made in Redis. */
  boolean isAvailable() {
    return connection.state().asksRedis() && !connection.isClosed();
  }

  /** Decides by this node's share; empty if Redis decides, or may still count on this node. */
  <T> Optional<T> decideLocally(Function<OutageLimits, T> decision) {
    return connection.whileOut(() -> decision.apply(localLimits()));
  }

  private OutageLimits localLimits() {
    OutageLimits present = local;
    if (present != null) {
      return present;
    }
    synchronized (this) {
      if (local == null) {
        local =
            new OutageLimits(
                connection.share(), book.rules(), connection::nanoTime, connection::serverNanos);
      }
      return local;
    }
  }

  SharedLimitsStatus status() {
    MembersView view = connection.view();
    return counts.status(isAvailable(), view == null ? 1 : view.live(), connection.timeouts());
  }

  /** Reads the rules now; if that fails, the next heartbeat does. */
  @SuppressWarnings("FutureReturnValueIgnored")
  void refreshRules() {
    if (refreshing.compareAndSet(false, true)) {
      book.refresh().whenComplete((done, failure) -> refreshing.set(false));
    }
  }

  private void rulesChanged(LimitTable rules) {
    OutageLimits limits = local;
    if (limits != null) {
      limits.follow(rules);
    }
    // One message for many changes in a row: each lists all rules.
    if (toldOfRules.compareAndSet(true, false)) {
      later(this::tellOfRules);
    }
  }

  private void tellOfRules() {
    toldOfRules.set(true);
    LimitTable rules = book.confirmed();
    config.limitsListener().limitsChanged(rules.limits(), rules.version());
  }

  private void later(Runnable message) {
    connection.execute(
        () -> {
          try {
            message.run();
          } catch (RuntimeException failure) {
            LOG.warn("a listener of shared limits failed", failure);
          }
        });
  }

  // ---- what the connection tells

  @Override
  public CompletableFuture<Void> seen(MembersView view) {
    return book.sync(view.rulesVersion(), view.rulesLife());
  }

  @Override
  public void lost(String cause) {
    counts.outages.increment();
    double share = connection.share() / (double) MembershipConfig.PARTS;
    LOG.debug("shared limits: outage started, share {}: {}", share, cause);
    later(() -> config.outageListener().outageStarted(cause, share));
  }

  /**
   * Redis has reserved what this node granted, so there is nothing to report. The next outage
   * begins empty again, also if this return is not confirmed.
   */
  @Override
  public CompletableFuture<Void> report() {
    OutageLimits limits = local;
    if (limits != null) {
      local = null;
      keys += limits.keys();
      tokens += limits.granted();
    }
    return CompletableFuture.allOf();
  }

  @Override
  public void connected(Optional<Duration> outage) {
    int decided = keys;
    long granted = tokens;
    keys = 0;
    tokens = 0;
    outage.ifPresent(
        length -> {
          LOG.debug(
              "shared limits: outage ended after {}: {} tokens of {} limits granted by share",
              length,
              granted,
              decided);
          later(() -> config.outageListener().outageEnded(length, granted));
        });
  }

  @Override
  public void refused(String error) {
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.warn(
                "shared limits: Redis returned an error: {} ({} not logged before)",
                text,
                leftOut));
    LOG.debug("shared limits: Redis error: {}", error);
    later(() -> config.outageListener().redisError(error));
  }

  boolean isClosed() {
    return connection.isClosed();
  }

  @Override
  public void close() {
    connection.close();
  }
}
