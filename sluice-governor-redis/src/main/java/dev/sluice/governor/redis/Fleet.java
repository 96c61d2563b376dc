package dev.sluice.governor.redis;

import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.Pulse;
import dev.sluice.redis.link.RedisLink;
import dev.sluice.redis.link.RefusalLog;
import dev.sluice.redis.link.Roll;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This node's part in the fleet: sees that Redis knows the rules, and what is lost meanwhile. */
final class Fleet implements AutoCloseable, Pulse.Member {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final String THREADS = "sluice-budgets";
  private static final int NODE_BYTES = 8;

  /** By then the other nodes have found that Redis is back, or their try to connect has ended. */
  private static final long SETTLE_MICROS = TimeUnit.MILLISECONDS.toMicros(1_500);

  private final FleetConfig config;
  private final RefusalLog refusals = RefusalLog.create();
  private final String node;
  private final Pulse pulse;
  private final ReadWriteLock turn = new ReentrantReadWriteLock();
  private volatile Supplier<Collection<RedisDesk>> desks = List::of;

  /** Among how many nodes this one decides by itself; 0 while Redis decides. */
  private volatile int aloneAmong;

  /** Whether somebody was told of an outage, and not yet of its end. */
  private volatile boolean outage;

  Fleet(FleetConfig config) {
    this.config = config;
    this.aloneAmong = config.expectedNodes();
    byte[] bytes = new byte[NODE_BYTES];
    new SecureRandom().nextBytes(bytes);
    this.node = HexFormat.of().formatHex(bytes);
    this.pulse =
        new Pulse(
            config.address(),
            new LinkTerms(
                config.timeout(),
                config.trust(),
                List.of(Script.values()),
                THREADS,
                BudgetUnavailableException.failures()),
            new Roll(node, List.of(ModelKeys.nodes(config.prefix())), config.expectedNodes()),
            this);
  }

  /** Begins; returns when Redis decides, or has been tried in vain. */
  void start(Supplier<Collection<RedisDesk>> all) {
    desks = all;
    pulse.start();
  }

  RedisLink link() {
    return pulse.link();
  }

  String node() {
    return node;
  }

  FleetConfig config() {
    return config;
  }

  ModelKeys keys(String model) {
    return ModelKeys.of(config.prefix(), model);
  }

  /** What the clock of Redis shows, as far as it is known. */
  long serverNanos() {
    return pulse.serverNanos();
  }

  /** Runs it on the thread of the pulse, which must not wait. */
  void execute(Runnable work) {
    pulse.execute(work);
  }

  /**
   * Decides by itself, among so many nodes, and is charged for it before Redis decides again; empty
   * if Redis does. Must not ask Redis.
   */
  <T> Optional<T> whileAlone(IntFunction<T> decision) {
    turn.readLock().lock();
    try {
      int nodes = aloneAmong;
      return nodes == 0 ? Optional.empty() : Optional.of(decision.apply(nodes));
    } finally {
      turn.readLock().unlock();
    }
  }

  /** Whether this node is without Redis, be it that it began so. */
  boolean isOutage() {
    return outage;
  }

  // ---- what the pulse finds

  @Override
  public CompletableFuture<Void> answered(List<Object> answer) {
    return CompletableFuture.allOf();
  }

  /** Rules, settlements and charges that Redis has not confirmed. */
  @Override
  public CompletableFuture<Void> sendAgain() {
    return all(RedisDesk::sendAgain);
  }

  @Override
  public CompletableFuture<Void> settleUp() {
    return all(RedisDesk::settleUp);
  }

  private CompletableFuture<Void> all(Function<RedisDesk, CompletableFuture<?>> work) {
    return CompletableFuture.allOf(
        desks.get().stream().map(work).toArray(CompletableFuture<?>[]::new));
  }

  /** Redis decides from now on: after it was told to charge what was granted meanwhile. */
  @Override
  public void comeBack(boolean inPart, Runnable redisDecides) {
    List<Charge> charges = new ArrayList<>();
    turn.writeLock().lock();
    try {
      long pause = outage && !inPart && aloneAmong > 1 ? SETTLE_MICROS : 0;
      desks.get().forEach(desk -> charges.addAll(desk.comeBack(pause)));
      aloneAmong = 0;
      // Before Redis decides: from then on it may be lost again, and that is told after this.
      if (outage) {
        outage = false;
        returned(charges);
      }
      redisDecides.run();
    } finally {
      turn.writeLock().unlock();
    }
    pulse.execute(() -> desks.get().forEach(RedisDesk::look));
  }

  private void returned(List<Charge> charges) {
    Duration away = pulse.sinceLoss();
    long granted = charges.stream().mapToLong(Charge::granted).sum();
    long charged = charges.stream().mapToLong(Charge::tokens).sum();
    LOG.info(
        "budgets: Redis is back after {} ms; {} tokens were granted here, {} of them are charged",
        away.toMillis(),
        granted,
        charged);
    tell(() -> config.listener().returned(away, granted, charged));
  }

  /** Called under a lock of the link: it must not take one under which Redis is asked. */
  @Override
  public void lost(String cause, boolean inPart) {
    outage = true;
    int nodes = aloneAmong == 0 ? pulse.nodes() : aloneAmong;
    desks.get().forEach(desk -> desk.beginShare(nodes));
    aloneAmong = nodes;
    LOG.warn("budgets: Redis is lost, budgets are divided by {}: {}", nodes, cause);
    tell(() -> config.listener().lost(cause, nodes));
  }

  @Override
  public void refused(String error) {
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.warn("budgets: Redis refused: {} ({} left out before)", text, leftOut));
    tell(() -> config.listener().refused(error));
  }

  private void tell(Runnable message) {
    pulse.execute(
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
    pulse.close();
  }
}
