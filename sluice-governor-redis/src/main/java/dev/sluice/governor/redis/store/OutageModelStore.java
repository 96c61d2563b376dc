package dev.sluice.governor.redis.store;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageMode;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers for one model what Redis does not, by the outage policy, and keeps what Redis has to be
 * told afterwards. Thread-safe.
 */
final class OutageModelStore {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  private final String model;
  private final GovernorFleetMember fleet;
  private final ModelScripts scripts;
  private final ReplyMapper replies;
  private final BudgetListener listener;
  private final NodeGrants own;
  private final SettlementOutbox outbox;
  private final AdjustmentState adjustments;
  private final LocalShareStore local;
  private final OutageReports reports;
  private final TicketWaitingList waitingList;
  private final UnansweredKeys unansweredKeys = new UnansweredKeys();
  private final AtomicBoolean sending = new AtomicBoolean();
  private volatile GovernorStatus.@Nullable Model lastStatus;

  /** Not in this node's file any more. */
  private volatile boolean removed;

  OutageModelStore(
      String model,
      GovernorFleetMember fleet,
      ModelScripts scripts,
      StoreTimer timer,
      BudgetListener listener,
      SettlementOutbox outbox) {
    this.model = model;
    this.fleet = fleet;
    this.scripts = scripts;
    this.replies = new ReplyMapper(model);
    this.listener = listener;
    this.outbox = outbox;
    this.adjustments = new AdjustmentState(timer);
    this.own = new NodeGrants(timer, () -> scripts.config().waitingList().reservationTimeout().toNanos());
    Callers callers = new Callers();
    this.reports = new OutageReports(scripts, timer, callers);
    this.waitingList =
        new TicketWaitingList(scripts, replies, timer, fleet.config().spreadNanos(), this);
    this.local = new LocalShareStore(model, fleet, scripts, timer, listener, callers);
  }

  TicketWaitingList waitingList() {
    return waitingList;
  }

  /** Decides by this node's share. */
  LocalShareStore local() {
    return local;
  }

  AdjustmentState adjustments() {
    return adjustments;
  }

  private final class Callers implements LocalShareStore.OutageCallbacks, OutageReports.Callers {
    @Override
    public List<StoreSnapshot.OpenReservation> open() {
      return Stream.concat(
              held().stream().map(each -> each.held(replies)),
              reports.unclaimed().stream()
                  .filter(each -> !isKnown(ReplyMapper.idIn(each.answer().reservation()))))
          .toList();
    }

    @Override
    public List<StoreSnapshot.OpenTicket> inLine() {
      return reports.inLineWith(waitingList.places()).stream()
          .filter(each -> !isKnown(ReplyMapper.idIn(each.id())))
          .toList();
    }

    /** A poll may have told of a grant of which waiters have not heard, or a caller has left. */
    private boolean isKnown(String id) {
      return isOpen(id) || outbox.ends(id);
    }

    @Override
    public @Nullable ModelBudget budget() {
      return removed ? null : scripts.config().budget();
    }

    @Override
    public @Nullable ProviderAdjustment adjustment() {
      AdjustmentState.NumberedAdjustment inForce = adjustments.inForce();
      return inForce == null ? null : inForce.adjustment();
    }

    @Override
    public void decided(String ticket, TokenDecision outcome) {
      waitingList.decidedHere(ReplyMapper.idIn(ticket), outcome);
    }

    /** Redis is to be told what became of them. */
    @Override
    public void ended(LocalShareStore.OutageResult result) {
      fleet.grantedLocally(result.tokens());
      // No caller was told of the others: Redis gives them back if nobody asks for them.
      result.granted().stream()
          .filter(StoreSnapshot.OpenReservation::claimed)
          .forEach(each -> own.add(NodeGrants.Grant.of(each)));
      waitingList.goOn(result.waiting());
      reports.add(result, unansweredKeys.takeDecided());
    }

    @Override
    public boolean isOpen(String id) {
      return OutageModelStore.this.isOpen(id);
    }

    @Override
    public boolean isAwaited(String id) {
      return waitingList.isAwaited(id);
    }

    @Override
    public void over(String id) {
      own.remove(id);
    }
  }

  /** A caller was told of it here. */
  void granted(TokenDecision.Granted answer, String tenant, @Nullable String key) {
    own.add(new NodeGrants.Grant(answer, tenant, key, false));
  }

  /** It is settled, as Redis or another node has said. */
  void over(String id) {
    own.remove(id);
    outbox.over(id);
    local.settledElsewhere(id);
  }

  /** A caller that was to be told of it had gone. */
  void unheard(String id) {
    own.unheard(id);
  }

  /** No caller was told of what this node has granted: somebody may still come and ask. */
  void unheardHere(String id) {
    if (!local.unheard(replies.ticket(id))) {
      own.unheard(id);
      if (!isOpen(id) && !waitingList.isAwaited(id)) {
        outbox.cancel(id, true);
      }
    }
  }

  /** Returns the outbox of settlements, extensions and cancellations. */
  SettlementOutbox outbox() {
    return outbox;
  }

  void livesOn(String id) {
    own.extend(id);
  }

  /** Returns what books that do not know it have to hold. */
  List<NodeGrants.Grant> held() {
    return own.all().stream().filter(each -> !each.free()).toList();
  }

  /** Returns whether a caller was told of it here, and it is not settled. */
  boolean isOpen(String id) {
    return own.find(id) != null;
  }

  /** Answers a request that Redis was not asked about, or did not answer. */
  Optional<TokenDecision> ask(TokenRequest request, boolean now, boolean mayBeLocal) {
    fleet.connection().requireLayout();
    Optional<TokenDecision> before = findHere(request);
    if (before.isPresent()) {
      return before;
    }
    if (fleet.config().outageMode() == OutageMode.OPEN) {
      return Optional.of(grantedFreely(request));
    }
    TokenDecision refused = replies.tooLarge(request, scripts.config().budget());
    if (refused == null && mayBeLocal && local.hasTenant(request.tenant())) {
      Optional<Optional<TokenDecision>> here =
          local.decide(
              store ->
                  (now ? store.tryAcquire(request) : store.request(request).thenApply(Optional::of))
                      // Before the return begins, whose report has the key.
                      .thenApply(outcome -> unansweredKeys.decidedLocally(request, outcome)));
      // Redis may later grant a request that exceeds the share.
      if (here.isPresent()
          && here.get().filter(TokenDecision.Impossible.class::isInstance).isEmpty()) {
        return here.get();
      }
    }
    if (refused == null) {
      refused =
          replies.unavailable(
              request,
              0,
              isUnreported() && !fleet.isOut()
                  ? "Redis has not accepted yet what this node decided in an outage"
                  : "Redis does not answer, and this node cannot grant it by itself");
    }
    listener.requested(request, refused, fleet.serverNanos());
    return Optional.of(refused);
  }

  private TokenDecision grantedFreely(TokenRequest request) {
    TokenDecision.Granted answer =
        new TokenDecision.Granted(
            model,
            request.priorityClass(),
            BudgetStoreSupport.reserved(scripts.config().budget(), request),
            0,
            request.tokens(),
            replies.reservation(RedisModelStore.newId()));
    own.add(new NodeGrants.Grant(answer, request.tenant(), request.idempotencyKey(), true));
    listener.requested(request, answer, fleet.serverNanos());
    return answer;
  }

  /**
   * Redis has not said what became of it, so nobody uses what it may have granted; under a key, a
   * retry finds it, unless this node decides the retry by itself.
   */
  void unanswered(String id, TokenRequest request) {
    if (request.idempotencyKey() == null || fleet.config().outageMode() == OutageMode.OPEN) {
      outbox.undo(id);
    } else {
      unansweredKeys.unanswered(request);
    }
  }

  /** Redis has answered it. */
  void answered(TokenRequest request) {
    if (request.idempotencyKey() != null) {
      unansweredKeys.answered(request);
    }
  }

  /** Returns what was granted under the same key without Redis, of which Redis is not told. */
  Optional<TokenDecision> findFree(TokenRequest request) {
    return request.idempotencyKey() == null ? Optional.empty() : own.findFree(request);
  }

  /** Returns what this node knows under the same key while Redis is away. */
  Optional<TokenDecision> findHere(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return Optional.empty();
    }
    return local
        .decide(store -> store.find(request))
        .flatMap(found -> found)
        .or(() -> fleet.isOut() ? own.find(request) : findFree(request));
  }

  /** Returns whose it is, as far as it is known here. */
  Optional<TokenOwner> owner(String id) {
    return Optional.ofNullable(own.find(id))
        .map(NodeGrants.Grant::owner)
        .or(() -> local.decide(store -> store.owner(replies.reservation(id))).flatMap(each -> each))
        .or(() -> local.decide(store -> store.owner(replies.ticket(id))).flatMap(each -> each));
  }

  /** Settles by this node alone what it granted alone. */
  Optional<TokenSettlement> settle(String id, long actual) {
    endIfShut();
    NodeGrants.Grant grant = own.find(id);
    if (grant == null) {
      return settleLocally(id, actual);
    }
    if (grant.free()) {
      own.remove(id);
      return Optional.of(grant.settled(actual, scripts.config().budget().maxChargedTokens()));
    }
    return Optional.empty();
  }

  /** Of a grant of Redis the share has not charged the tokens, but counts the slot. */
  private Optional<TokenSettlement> settleLocally(String id, long actual) {
    Optional<TokenSettlement> settled =
        local.decide(store -> store.settle(replies.reservation(id), actual)).flatMap(done -> done);
    if (settled.isPresent() && reports.hasGranted(id)) {
      outbox.release(id, settled.get().reservedTokens());
    }
    return settled;
  }

  /** Redis does not answer: it is told later. */
  CompletableFuture<Optional<TokenSettlement>> keepSettled(String id, long actual) {
    endIfShut();
    NodeGrants.Grant grant = own.remove(id);
    if (grant != null) {
      settleLocally(id, 0);
    }
    if (!outbox.settle(id, actual, grant == null)) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return grant == null
        ? CompletableFuture.failedFuture(
            GovernorFleetMember.storedForLater("settlement of " + replies.reservation(id)))
        : CompletableFuture.completedFuture(
            Optional.of(grant.settled(actual, scripts.config().budget().maxChargedTokens())));
  }

  /** Extends by this node alone what it granted alone. */
  boolean extend(String id) {
    endIfShut();
    NodeGrants.Grant grant = own.find(id);
    if (grant != null && grant.free()) {
      own.extend(id);
      return true;
    }
    boolean extended = local.decide(store -> store.extend(replies.reservation(id))).orElse(false);
    return extended && grant == null;
  }

  /** Redis does not answer: it is told later of what is known here. */
  CompletableFuture<Boolean> keepExtended(String id, Throwable failure) {
    endIfShut();
    NodeGrants.Extended extended = own.extend(id);
    if (extended == null) {
      return CompletableFuture.failedFuture(failure);
    }
    outbox.extend(extended);
    return CompletableFuture.completedFuture(true);
  }

  /** Cancels by this node alone what it knows. */
  boolean cancel(String id) {
    endIfShut();
    return own.find(id) == null
        && local.decide(store -> store.cancel(replies.ticket(id))).orElse(false);
  }

  /** Redis does not answer: it is told later. */
  CompletableFuture<Boolean> keepCancelled(String id, boolean awaited) {
    endIfShut();
    boolean granted = own.remove(id) != null;
    if (granted) {
      settleLocally(id, 0);
    }
    outbox.cancel(id, granted);
    return granted || awaited
        ? CompletableFuture.completedFuture(true)
        : CompletableFuture.failedFuture(
            GovernorFleetMember.storedForLater("cancellation of " + replies.ticket(id)));
  }

  /** Redis does not answer: it is told later. */
  void keepAdjusted(ProviderAdjustment adjustment) {
    adjustments.missed();
    local.adjust(adjustment);
  }

  void reload() {
    removed = false;
    own.shorten();
    local.reload();
  }

  /** Refuses all tickets from now on; grants can still be settled. */
  void remove() {
    removed = true;
    local.reload();
    if (fleet.isLocal()) {
      waitingList.refuseAll(TokenDecision.Reason.REMOVED);
    }
  }

  boolean isRemoved() {
    return removed;
  }

  /** A return has begun: what the share granted is like what Redis has granted, from here on. */
  private void endIfShut() {
    if (!fleet.isOut() && local.hasBegun()) {
      local.end();
    }
  }

  /** Returns whether Redis has not confirmed the decisions of this node. */
  boolean isUnreported() {
    return !reports.isEmpty();
  }

  /** For when Redis does not answer. */
  void stands(GovernorStatus.Model status) {
    lastStatus = status;
  }

  /** Returns the status of the share, or what Redis said last, or that there is nothing. */
  GovernorStatus.Model status() {
    return local
        .decide(store -> store.status())
        .flatMap(status -> Optional.ofNullable(status.models().get(model)))
        .map(status -> replies.ofShare(status, scripts.config()))
        .or(() -> Optional.ofNullable(lastStatus))
        .orElseGet(() -> replies.nothingLeft(scripts.config()));
  }

  /** Redis has reserved this node's share, unless it has data of another layout. */
  void beAlone() {
    if (fleet.connection().hasOtherLayout()) {
      local.end();
    } else {
      local.open();
    }
  }

  /**
   * Ends local decisions, and tells Redis what became of them.
   *
   * @param rules tells Redis the rules first
   */
  CompletableFuture<Void> report(Supplier<CompletableFuture<?>> rules) {
    // Before anything is sent: from here on this node's calls grant nothing from the line.
    local.end();
    return rules.get().thenCompose(told -> send());
  }

  /** Sends what Redis has not confirmed. */
  CompletableFuture<Void> sendAgain() {
    if (!sending.compareAndSet(false, true)) {
      return CompletableFuture.allOf();
    }
    return send().whenComplete((done, failure) -> sending.set(false));
  }

  /** Settlements come first: a report may use their idempotency keys again. */
  private CompletableFuture<Void> send() {
    return outbox
        .send(this::isOpen, reports::unknown)
        .thenCompose(sent -> sendAdjustment())
        .thenCompose(sent -> reports.send());
  }

  private CompletableFuture<?> sendAdjustment() {
    AdjustmentState.NumberedAdjustment missed = adjustments.unconfirmed();
    return missed == null
        ? CompletableFuture.allOf()
        : scripts
            .tell(GovernorScript.CONFIGURE, missed.arguments())
            .thenRun(() -> adjustments.confirmed(missed));
  }

  void close() {
    local.end();
    if (outbox.size() > 0 || !reports.isEmpty()) {
      LOG.warn(
          "model {}: closed during an outage; {} settlements and the grants of the outage were not"
              + " sent to Redis",
          model,
          outbox.size());
    }
  }
}
