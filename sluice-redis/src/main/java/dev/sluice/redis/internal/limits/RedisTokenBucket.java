package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.SharedTokenBucket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A token bucket in Redis. Thread-safe. */
public final class RedisTokenBucket implements SharedTokenBucket {
  private final LimitsFleetMember fleet;
  private final RedisDecider decider;
  private final String name;
  private final String place;
  private final ScriptLimit own;
  private final OutageMode policy;
  private final BucketWaiters waiting;
  private final @Nullable TokenBlockDecider leases;
  private volatile Known known;

  /** The limit of this bucket in one version of the definitions. */
  private record Known(LimitTable rules, ScriptLimit quota) {}

  public RedisTokenBucket(
      LimitsFleetMember fleet,
      String name,
      ScriptLimit own,
      OutageMode policy,
      @Nullable TokenBlockDecider leases) {
    this.fleet = fleet;
    this.decider = new RedisDecider(fleet);
    this.name = name;
    this.place = fleet.space().bucket(name);
    this.own = own;
    this.policy = policy;
    this.waiting = new BucketWaiters(this::decide, this::takeBack, fleet::isClosed);
    this.leases = leases;
    this.known = new Known(LimitTable.NONE, own);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Limit limit() {
    return quota().limit();
  }

  /** Returns the limit of the caller, or the one that {@link #reconfigure} set. */
  private Known known() {
    LimitTable rules = fleet.book().rules();
    Known last = known;
    if (last.rules() != rules) {
      ScriptLimit changed = rules.ofBucket(name);
      last = new Known(rules, changed == null ? own : changed);
      known = last;
    }
    return last;
  }

  private ScriptLimit quota() {
    return known().quota();
  }

  @Override
  public CompletableFuture<Boolean> tryAcquire(long tokens) {
    if (CostChecks.requireTokens(tokens) == 0) {
      return Futures.now(true);
    }
    return leased(tokens) >= 0
        ? Futures.now(true)
        : ask(tokens, true).thenApply(Decision::isGranted);
  }

  /** Takes tokens from a block; returns what is left of it, negative if no block has them. */
  private long leased(long tokens) {
    return leases == null || tokens == 0 ? TokenBlock.NOTHING : leases.take(place, known(), tokens);
  }

  @Override
  public CompletableFuture<Decision> decide(long tokens) {
    long left = leased(CostChecks.requireTokens(tokens));
    return left >= 0 ? Futures.now(new Decision.Granted(left)) : ask(tokens, true);
  }

  @Override
  public CompletableFuture<Decision> peek(long tokens) {
    return ask(CostChecks.requireTokens(tokens), false);
  }

  private CompletableFuture<Decision> ask(long tokens, boolean take) {
    Known under = known();
    Ask question =
        new Ask(
            new BucketDemand(name, place, under.quota(), under.rules().version(), tokens),
            take,
            policy);
    return leases == null || !take || tokens == 0
        ? decider.answer(question)
        : leases.answer(question, under, under.rules().version());
  }

  /** A request for tokens of this bucket. */
  private record Ask(BucketDemand demand, boolean take, OutageMode policy)
      implements RedisDecider.BucketRequest<Decision> {
    @Override
    public List<BucketDemand> demands() {
      return List.of(demand);
    }

    @Override
    public Decision read(RedisDecider.ScriptDecision verdict) {
      return switch (verdict.outcome()) {
        case GRANTED -> new Decision.Granted(verdict.figure());
        case DENIED -> new Decision.Denied("", verdict.retryAfterNanos());
        case DEPLETED -> new Decision.Depleted("", verdict.figure());
        case IMPOSSIBLE -> new Decision.Impossible("", demand.quota().limit().capacity());
      };
    }

    @Override
    public Decision local(OutageLimits limits) {
      return limits.decide(demand, take);
    }

    @Override
    public Decision granted() {
      return OutageDecisions.GRANTED;
    }

    @Override
    public Decision denied() {
      return OutageDecisions.DENIED;
    }
  }

  @Override
  public CompletableFuture<Boolean> acquire(long tokens, Duration maxWait) {
    CostChecks.requireWait(maxWait);
    if (CostChecks.requireTokens(tokens) == 0) {
      return Futures.now(true);
    }
    if (tokens > limit().capacity()) {
      return Futures.now(false);
    }
    return waiting.size() == 0 && leased(tokens) >= 0
        ? Futures.now(true)
        : waiting.enter(tokens, maxWait);
  }

  /** Returns tokens of a waiter that has left; in an outage they stay charged. */
  @SuppressWarnings("FutureReturnValueIgnored") // the waiter has left
  private void takeBack(long tokens) {
    replenish(tokens);
  }

  /** Returns the number of waiters of this object. */
  public int waiting() {
    return waiting.size();
  }

  @Override
  public CompletableFuture<Long> available() {
    return decider
        .adjust("look", 0, place, quota())
        .thenApply(level -> level.units() / level.unitsPerToken());
  }

  @Override
  public CompletableFuture<Optional<Duration>> timeToFull() {
    return decider.adjust("look", 0, place, quota()).thenApply(RedisDecider.Level::timeToFull);
  }

  @Override
  public CompletableFuture<Void> replenish(long tokens) {
    return decider
        .adjust("give", CostChecks.requireTokens(tokens), place, quota())
        .thenAccept(level -> waiting.wake());
  }

  @Override
  public CompletableFuture<Void> reset() {
    return decider.adjust("fill", 0, place, quota()).thenAccept(level -> waiting.wake());
  }

  @Override
  public CompletableFuture<Void> reconfigure(Limit limit) {
    ScriptLimit to = ScriptLimit.of(limit);
    ScriptLimit from = quota();
    return fleet
        .book()
        .put(LimitTable.fieldOfBucket(name), LimitCodec.write(limit))
        .thenCompose(changed -> decider.move(place, from, to))
        .thenRun(waiting::wake);
  }
}
