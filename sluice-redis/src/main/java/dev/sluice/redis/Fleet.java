package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.Pulse;
import dev.sluice.redis.link.RedisAddress;
import dev.sluice.redis.link.RedisLink;
import dev.sluice.redis.link.RefusalLog;
import dev.sluice.redis.link.Roll;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This node's part in the fleet: keeps its rules, and sees its limiters through outages. */
final class Fleet implements AutoCloseable, Pulse.Member {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final String THREADS = "sluice-redis";
  private static final int VERSION_AT = 1;
  private static final int LIFE_AT = 3;

  /** By then the other nodes have found that Redis is back, or their try to connect has ended. */
  static final long SETTLE_MILLIS = 1_500;

  /** How often that is waited for, if Redis does not confirm the charges. */
  private static final int SETTLE_TRIES = 5;

  /** How many times some keys are charged before the return; what is left is charged after it. */
  private static final int SETTLE_ROUNDS = 64;

  private final LimitsConfig config;
  private final RefusalLog refusals = RefusalLog.create();
  private final KeySpace space;
  private final boolean cluster;
  private final Counts counts = new Counts();
  private final Pulse pulse;
  private final RuleBook book;
  private final Charges charges;
  private final HeldKeys held;
  private final Batches batches;
  private final AtomicBoolean refreshing = new AtomicBoolean();
  private final AtomicBoolean toldOfRules = new AtomicBoolean(true);

  private volatile @Nullable Shares shares;
  private volatile @Nullable Shares gate;

  /** Whether somebody was told of an outage, and not yet of its end. */
  private volatile boolean outage;

  /** Whether the outage is one of a part of a cluster, whose end the pulse tells. */
  private volatile boolean inPart;

  Fleet(RedisAddress address, LimitsConfig config, String node) {
    this.config = config;
    this.space = new KeySpace(config.prefix());
    this.cluster = address.cluster();
    this.pulse =
        new Pulse(
            address,
            new LinkTerms(
                config.timeout(),
                config.trust(),
                List.of(Script.values()),
                THREADS,
                LimitsUnavailableException.failures()),
            new Roll(node, List.of(space.nodes(), space.rules()), config.expectedNodes()),
            this);
    RedisLink link = pulse.link();
    this.book = new RuleBook(link, space, Rules.of(config.remembered()), this::rulesChanged);
    this.batches = new Batches(link);
    this.charges = new Charges(link, book, counts, node, cluster ? this::notCharged : null);
    this.held = new HeldKeys(pulse, charges, this::shares, this::released);
    this.shares = newShares();
  }

  private Shares newShares() {
    return new Shares(
        pulse.nodes(),
        book.rules(),
        pulse::serverNanos,
        demands -> !pulse.link().isAvailable() || held.holdsAll(demands));
  }

  /** Begins; returns when Redis decides, or has been tried in vain. */
  void start() {
    pulse.start();
  }

  RedisLink link() {
    return pulse.link();
  }

  RuleBook book() {
    return book;
  }

  Batches batches() {
    return batches;
  }

  KeySpace space() {
    return space;
  }

  Counts counts() {
    return counts;
  }

  boolean isCluster() {
    return cluster;
  }

  /** What this node may grant by itself; null while Redis decides. */
  @Nullable Shares shares() {
    return shares;
  }

  /** What has to agree with Redis for a while after an outage; null if nothing has to. */
  @Nullable Shares gate(List<Demand> demands) {
    @Nullable Shares ofAll = gate;
    return ofAll == null ? held.gateOf(demands) : ofAll;
  }

  /** Whether Redis is not asked about these, although it answers. */
  boolean holds(List<Demand> demands) {
    return held.holdsAny(demands);
  }

  /** Redis did not answer for these; from now on it is not asked about them, if others go on. */
  void unanswered(List<Demand> demands, Throwable failure) {
    boolean othersGoOn = pulse.link().isAvailable() && (cluster || shares != null);
    if (othersGoOn && !RedisLink.isRefusal(failure)) {
      held.unanswered(demands);
    }
  }

  /** Of a cluster only the part where that key is may be lost. */
  private void notCharged(Shares.Charge charge) {
    held.hold(charge.key(), charge.quota());
  }

  /**
   * Whether Redis alone decides. Otherwise this node's share does too, and blocks are left alone:
   * what a share saves up and a block together may be more than the limit.
   */
  boolean isCalm() {
    return shares == null && gate == null && held.isEmpty();
  }

  LimitsStatus status() {
    RedisLink link = pulse.link();
    return counts.status(link.isAvailable(), pulse.liveNodes(), link.timeouts());
  }

  /** Reads the rules now; if that fails, the next pulse does. */
  @SuppressWarnings("FutureReturnValueIgnored")
  void refreshRules() {
    if (refreshing.compareAndSet(false, true)) {
      book.refresh().whenComplete((done, failure) -> refreshing.set(false));
    }
  }

  private void rulesChanged(Rules rules) {
    for (@Nullable Shares each : new @Nullable Shares[] {shares, gate}) {
      if (each != null) {
        each.follow(rules);
      }
    }
    // One message for many changes in a row: each lists all rules.
    if (toldOfRules.compareAndSet(true, false)) {
      later(this::tellOfRules);
    }
  }

  private void tellOfRules() {
    toldOfRules.set(true);
    Rules rules = book.confirmed();
    config.listener().onRules(rules.list(), rules.version());
  }

  private void tell(LimitsEvent event) {
    LOG.debug("shared limits: {}", event);
    later(() -> config.listener().onEvent(event));
  }

  private void later(Runnable message) {
    pulse.execute(
        () -> {
          try {
            message.run();
          } catch (RuntimeException failure) {
            LOG.warn("a listener of shared limits failed", failure);
          }
        });
  }

  /** The rules, as the pulse has told them. */
  @Override
  public CompletableFuture<Void> answered(List<Object> answer) {
    return book.sync(Call.number(answer, VERSION_AT), Call.number(answer, LIFE_AT));
  }

  /** Keys that are held are charged one by one; in a cluster those are all that are not charged. */
  @Override
  public CompletableFuture<Void> sendAgain() {
    return cluster || !held.isFree() ? CompletableFuture.allOf() : charges.sendAgain();
  }

  /** Charges what this node has granted so far, so that little is left when it returns. */
  @Override
  public CompletableFuture<Void> settleUp() {
    return settleUp(SETTLE_ROUNDS);
  }

  private CompletableFuture<Void> settleUp(int rounds) {
    @Nullable Shares local = shares;
    if (local == null || pulse.link().isAvailable()) {
      return CompletableFuture.allOf();
    }
    List<Shares.Charge> some = local.drain(Charges.AT_ONCE);
    CompletableFuture<Void> sent = charges.send(some);
    // Where one part of a cluster does not answer the others go on.
    CompletableFuture<Void> charged = cluster ? sent.exceptionally(lost -> null) : sent;
    return some.size() < Charges.AT_ONCE || rounds <= 1
        ? charged
        : charged.thenComposeAsync(done -> settleUp(rounds - 1), pulse);
  }

  /** Redis decides from now on, but for keys that are held: what those owe is charged first. */
  @Override
  public void comeBack(boolean onlyPart, Runnable redisDecides) {
    @Nullable Shares local = shares;
    if (local == null) {
      return;
    }
    if (onlyPart) {
      finish(local, true, redisDecides);
      return;
    }
    @Nullable Shares next = outage && local.nodes() > 1 ? local.gate() : null;
    local.exclusively(
        () -> {
          gate = next;
          Map<String, Quota> owed = local.owed();
          if (held.isEmpty() && charges.isSettled() && owed.size() <= Charges.AT_ONCE) {
            end(local);
          } else {
            charges.owed().forEach(held::hold);
            owed.forEach(held::hold);
          }
          redisDecides.run();
        });
    if (next != null) {
      settleLater(next, SETTLE_TRIES);
    }
  }

  /** No key is held any more; of a part of a cluster the pulse tells when it is calm. */
  private void released() {
    @Nullable Shares local = shares;
    if (local != null) {
      finish(local, false, () -> {});
    }
  }

  /** Ends the shares, unless they have to go on. */
  private void finish(Shares local, boolean onlyPart, Runnable redisDecides) {
    local.exclusively(
        () ->
            pulse
                .link()
                .whileAvailable(
                    () -> {
                      if (shares == local && inPart == onlyPart && held.isFree()) {
                        end(local);
                        redisDecides.run();
                      }
                    }));
  }

  private void end(Shares local) {
    local.close(
        rest -> {
          // Redis does what comes over one connection in order, so these come first.
          charges.sendLast(rest);
          if (outage) {
            tell(returned(local.totals()));
          }
          outage = false;
          inPart = false;
          shares = null;
        });
  }

  /** Opens the gate when the others have returned, and what this node owed is charged. */
  private void settleLater(Shares mine, int tries) {
    pulse.executeAfter(
        SETTLE_MILLIS,
        () -> {
          if (gate != mine) {
            return;
          }
          if (charges.isSettled() || tries == 0) {
            gate = null;
          } else {
            settleLater(mine, tries - 1);
          }
        });
  }

  private LimitsEvent returned(Shares.Totals all) {
    return new LimitsEvent.Returned(pulse.sinceLoss(), all.keys(), all.granted(), all.charged());
  }

  /** From now on shares decide; in a part of a cluster only what Redis does not answer. */
  @Override
  public void lost(String cause, boolean onlyPart) {
    counts.outages.increment();
    outage = true;
    inPart = onlyPart;
    if (!onlyPart) {
      gate = null;
    }
    beginShares();
    tell(new LimitsEvent.Lost(cause, pulse.nodes()));
  }

  private void beginShares() {
    if (shares == null) {
      Shares next = newShares();
      shares = next;
      next.follow(book.rules()); // if they have just changed
    }
  }

  @Override
  public void refused(String error) {
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.warn("shared limits: Redis refused: {} ({} left out before)", text, leftOut));
    tell(new LimitsEvent.Refused(error));
  }

  boolean isClosed() {
    return pulse.isClosed();
  }

  @Override
  public void close() {
    pulse.close();
  }
}
