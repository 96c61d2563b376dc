package dev.sluice.governor.redis;

import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.Pulse;
import dev.sluice.redis.link.RedisLink;
import dev.sluice.redis.link.Roll;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This node's part in the fleet: sees that Redis knows the rules, and what is lost meanwhile. */
final class Fleet implements AutoCloseable, Pulse.Member {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final String THREADS = "sluice-budgets";
  private static final int NODE_BYTES = 8;

  private final FleetConfig config;
  private final String node;
  private final Pulse pulse;
  private volatile Supplier<Collection<RedisDesk>> desks = List::of;

  /** Whether somebody was told of an outage, and not yet of its end. */
  private volatile boolean outage;

  Fleet(FleetConfig config) {
    this.config = config;
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

  // ---- what the pulse finds

  @Override
  public CompletableFuture<Void> answered(List<Object> answer) {
    return CompletableFuture.allOf();
  }

  /** Rules that Redis has not confirmed. */
  @Override
  public CompletableFuture<Void> sendAgain() {
    return CompletableFuture.allOf(
        desks.get().stream().map(RedisDesk::confirm).toArray(CompletableFuture<?>[]::new));
  }

  @Override
  public CompletableFuture<Void> settleUp() {
    return CompletableFuture.allOf();
  }

  @Override
  public void comeBack(boolean inPart, Runnable redisDecides) {
    redisDecides.run();
    if (outage) {
      outage = false;
      tell(() -> config.listener().returned(pulse.sinceLoss()));
    }
    pulse.execute(() -> desks.get().forEach(RedisDesk::look));
  }

  /** Called under a lock of the link: it must not take one of a desk. */
  @Override
  public void lost(String cause, boolean inPart) {
    outage = true;
    LOG.warn("budgets: Redis is lost: {}", cause);
    tell(() -> config.listener().lost(cause));
  }

  @Override
  public void refused(String error) {
    LOG.warn("budgets: Redis refused: {}", error);
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
