package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A bucket in Redis. */
final class RedisBucket implements SharedBucket {
  private final Fleet fleet;
  private final Decider decider;
  private final String name;
  private final String place;
  private final Quota own;
  private final OutagePolicy policy;
  private final WaitingRoom waiting;
  private final @Nullable Leaseholders leases;
  private volatile Known known;

  /** The limit under some rules. */
  private record Known(Rules rules, Quota quota) {}

  RedisBucket(
      Fleet fleet, String name, Quota own, OutagePolicy policy, @Nullable Leaseholders leases) {
    this.fleet = fleet;
    this.decider = new Decider(fleet);
    this.name = name;
    this.place = fleet.space().bucket(name);
    this.own = own;
    this.policy = policy;
    this.waiting = new WaitingRoom(this::decide, this::takeBack, fleet::isClosed);
    this.leases = leases;
    this.known = new Known(Rules.NONE, own);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Limit limit() {
    return quota().limit();
  }

  /** The limit of the code, or what the fleet was told instead. */
  private Known known() {
    Rules rules = fleet.book().rules();
    Known last = known;
    if (last.rules() != rules) {
      Quota changed = rules.ofBucket(name);
      last = new Known(rules, changed == null ? own : changed);
      known = last;
    }
    return last;
  }

  private Quota quota() {
    return known().quota();
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(long tokens) {
    if (Costs.requireTokens(tokens) == 0) {
      return Answers.now(true);
    }
    return leased(tokens) >= 0
        ? Answers.now(true)
        : ask(tokens, true).thenApply(Decision::isGranted);
  }

  /** What is left of a block after tokens were taken from it; negative if none has them. */
  private long leased(long tokens) {
    return leases == null || tokens == 0 ? Block.NOTHING : leases.take(place, known(), tokens);
  }

  @Override
  public CompletableFuture<Decision> decide(long tokens) {
    long left = leased(Costs.requireTokens(tokens));
    return left >= 0 ? Answers.now(Decision.granted(left)) : ask(tokens, true);
  }

  @Override
  public CompletableFuture<Decision> peek(long tokens) {
    return ask(Costs.requireTokens(tokens), false);
  }

  private CompletableFuture<Decision> ask(long tokens, boolean take) {
    Known under = known();
    Ask question =
        new Ask(
            new Demand(name, place, under.quota(), under.rules().version(), tokens), take, policy);
    return leases == null || !take || tokens == 0
        ? decider.answer(question)
        : leases.answer(question, under, under.rules().version());
  }

  /** A question about this bucket. */
  private record Ask(Demand demand, boolean take, OutagePolicy policy)
      implements Decider.Question<Decision> {
    @Override
    public List<Demand> demands() {
      return List.of(demand);
    }

    @Override
    public Decision read(Decider.Verdict verdict) {
      return switch (verdict.outcome()) {
        case GRANTED -> Decision.granted(verdict.figure());
        case DENIED -> Decision.denied(verdict.retryAfterNanos());
        case DEPLETED -> Decision.depleted(verdict.figure());
        case IMPOSSIBLE -> Decision.impossible(demand.quota().limit().capacity());
      };
    }

    @Override
    public Decision local(LocalLimits limits) {
      return limits.decide(demand, take);
    }

    @Override
    public Decision granted() {
      return Outage.GRANTED;
    }

    @Override
    public Decision denied() {
      return Outage.DENIED;
    }
  }

  @Override
  public CompletableFuture<Boolean> consume(long tokens, Duration maxWait) {
    Costs.requireWait(maxWait);
    if (Costs.requireTokens(tokens) == 0) {
      return Answers.now(true);
    }
    if (tokens > limit().capacity()) {
      return Answers.now(false);
    }
    return waiting.size() == 0 && leased(tokens) >= 0
        ? Answers.now(true)
        : waiting.enter(tokens, maxWait);
  }

  /** In an outage the tokens stay charged. */
  @SuppressWarnings("FutureReturnValueIgnored") // who took them has left
  private void takeBack(long tokens) {
    refund(tokens);
  }

  /** How many wait here. */
  int waiting() {
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
    return decider.adjust("look", 0, place, quota()).thenApply(Decider.Level::timeToFull);
  }

  @Override
  public CompletableFuture<Void> replenish(long tokens) {
    return decider
        .adjust("give", Costs.requireTokens(tokens), place, quota())
        .thenAccept(level -> waiting.wake());
  }

  @Override
  public CompletableFuture<Void> reset() {
    return decider.adjust("fill", 0, place, quota()).thenAccept(level -> waiting.wake());
  }

  @Override
  public CompletableFuture<Void> reconfigure(Limit limit) {
    Quota to = Quota.of(limit);
    Quota from = quota();
    return fleet
        .book()
        .put(Rules.fieldOfBucket(name), LimitText.write(limit))
        .thenCompose(changed -> decider.move(place, from, to))
        .thenRun(waiting::wake);
  }
}
