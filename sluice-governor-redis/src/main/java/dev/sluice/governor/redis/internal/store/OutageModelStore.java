package dev.sluice.governor.redis.internal.store;

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
 * Answers the calls about one model that Redis does not, by the outage mode, and stores the
 * messages to send to Redis afterwards. Thread-safe.
 */
final class OutageModelStore {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  private final String model;
  private final GovernorFleetMember fleet;
  private final ModelScripts scripts;
  private final ReplyMapper replies;
  private final BudgetListener listener;
  private final NodeGrants grants;
  private final SettlementOutbox outbox;
  private final AdjustmentState adjustments;
  private final LocalShareStore local;
  private final OutageReports reports;
  private final TicketWaitingList waitingList;
  private final UnansweredKeys unansweredKeys = new UnansweredKeys();
  private final AtomicBoolean sending = new AtomicBoolean();
  private volatile GovernorStatus.@Nullable Model lastStatus;

  /** Whether the configuration of this node no longer has the model. */
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
    this.grants =
        new NodeGrants(timer, () -> scripts.config().waitingList().reservationTimeout().toNanos());
    Callers callers = new Callers();
    this.reports = new OutageReports(scripts, timer, callers);
    this.waitingList =
        new TicketWaitingList(scripts, replies, timer, fleet.config().spreadNanos(), this);
    this.local = new LocalShareStore(model, fleet, scripts, timer, listener, callers);
  }

  TicketWaitingList waitingList() {
    return waitingList;
  }

  /** Returns the store that decides by this node's share. */
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
              openGrants().stream().map(each -> each.reservation(replies)),
              reports.unclaimed().stream()
                  .filter(each -> !isKnown(ReplyMapper.idIn(each.answer().reservation()))))
          .toList();
    }

    @Override
    public List<StoreSnapshot.OpenTicket> waiting() {
      return reports.withUnconfirmed(waitingList.places()).stream()
          .filter(each -> !isKnown(ReplyMapper.idIn(each.id())))
          .toList();
    }

    /** A poll may have delivered a grant that waiters do not have yet, or a caller has left. */
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
      waitingList.decidedLocally(ReplyMapper.idIn(ticket), outcome);
    }

    /** Stores the result of the outage for the report. */
    @Override
    public void ended(LocalShareStore.OutageResult result) {
      fleet.grantedLocally(result.tokens());
      // The others were not delivered: Redis returns them if no caller asks for them.
      result.granted().stream()
          .filter(StoreSnapshot.OpenReservation::claimed)
          .forEach(each -> grants.add(NodeGrants.Grant.of(each)));
      waitingList.reported(result.waiting());
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
    public void ended(String id) {
      grants.remove(id);
    }
  }

  /** Records a grant that was delivered to a caller. */
  void granted(TokenDecision.Granted answer, String tenant, @Nullable String key) {
    grants.add(new NodeGrants.Grant(answer, tenant, key, false));
  }

  /** Records the end of a grant or ticket, which Redis or another node has reported. */
  void ended(String id) {
    grants.remove(id);
    outbox.ended(id);
    local.settledElsewhere(id);
  }

  /** Records that a grant of Redis reached no caller. */
  void undelivered(String id) {
    grants.undelivered(id);
  }

  /** Undoes the claim of a grant of the share that reached no caller; a later poll may claim it. */
  void unclaim(String id) {
    if (!local.undelivered(replies.ticket(id))) {
      // The return has begun: its report tells of the grant.
      local.end();
      waitingList.undelivered(id);
    }
  }

  /** Returns the outbox of settlements, extensions and cancellations. */
  SettlementOutbox outbox() {
    return outbox;
  }

  void extended(String id) {
    grants.extend(id);
  }

  /** Returns the grants to restore in new state. */
  List<NodeGrants.Grant> openGrants() {
    return grants.all().stream().filter(each -> !each.unchecked()).toList();
  }

  /** Returns whether a grant was delivered to a caller of this node, and is not settled. */
  boolean isOpen(String id) {
    return grants.find(id) != null;
  }

  /** Decides a request that Redis was not asked about, or did not answer. */
  Optional<TokenDecision> ask(TokenRequest request, boolean now, boolean mayBeLocal) {
    fleet.connection().requireLayout();
    Optional<TokenDecision> before = findLocally(request);
    if (before.isPresent()) {
      return before;
    }
    if (fleet.config().outageMode() == OutageMode.OPEN) {
      return Optional.of(grantUnchecked(request));
    }
    TokenDecision refused = replies.tooLarge(request, scripts.config().budget());
    if (refused == null && mayBeLocal && local.hasTenant(request.tenant())) {
      Optional<Optional<TokenDecision>> here =
          local.decide(
              store ->
                  (now ? store.tryAcquire(request) : store.request(request).thenApply(Optional::of))
                      // Before the return begins, because its report has the key.
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

  private TokenDecision grantUnchecked(TokenRequest request) {
    TokenDecision.Granted answer =
        new TokenDecision.Granted(
            model,
            request.priorityClass(),
            BudgetStoreSupport.reserved(scripts.config().budget(), request),
            0,
            request.tokens(),
            replies.reservation(RandomIds.newId()));
    grants.add(new NodeGrants.Grant(answer, request.tenant(), request.idempotencyKey(), true));
    listener.requested(request, answer, fleet.serverNanos());
    return answer;
  }

  /**
   * Records a request without an answer. A grant of Redis for it is returned; under a key, a retry
   * finds that grant, unless this node decides the retry by itself.
   */
  void unanswered(String id, TokenRequest request) {
    if (request.idempotencyKey() == null || fleet.config().outageMode() == OutageMode.OPEN) {
      outbox.undo(id);
    } else {
      unansweredKeys.unanswered(request);
    }
  }

  /** Records that Redis has answered a request. */
  void answered(TokenRequest request) {
    if (request.idempotencyKey() != null) {
      unansweredKeys.answered(request);
    }
  }

  /** Returns the grant of outage mode {@code open} under the same key. */
  Optional<TokenDecision> findUnchecked(TokenRequest request) {
    return request.idempotencyKey() == null ? Optional.empty() : grants.findUnchecked(request);
  }

  /** Returns the decision under the same key that this node knows in an outage. */
  Optional<TokenDecision> findLocally(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return Optional.empty();
    }
    return local
        .decide(store -> store.find(request))
        .flatMap(found -> found)
        .or(() -> fleet.isOut() ? grants.find(request) : findUnchecked(request));
  }

  /** Returns the owner of a ticket or reservation that this node knows. */
  Optional<TokenOwner> owner(String id) {
    return Optional.ofNullable(grants.find(id))
        .map(NodeGrants.Grant::owner)
        .or(() -> local.decide(store -> store.owner(replies.reservation(id))).flatMap(each -> each))
        .or(() -> local.decide(store -> store.owner(replies.ticket(id))).flatMap(each -> each));
  }

  /** Settles a grant that this node made without Redis. */
  Optional<TokenSettlement> settle(String id, long actual) {
    endAfterReturn();
    NodeGrants.Grant grant = grants.find(id);
    if (grant == null) {
      return settleLocally(id, actual);
    }
    if (grant.unchecked()) {
      grants.remove(id);
      return Optional.of(grant.settled(actual, scripts.config().budget().maxChargedTokens()));
    }
    return Optional.empty();
  }

  /** Settles a grant in the share, which counts the slot of a grant of Redis without its tokens. */
  private Optional<TokenSettlement> settleLocally(String id, long actual) {
    Optional<TokenSettlement> settled =
        local.decide(store -> store.settle(replies.reservation(id), actual)).flatMap(done -> done);
    if (settled.isPresent() && reports.hasGranted(id)) {
      outbox.release(id, settled.get().reservedTokens());
    }
    return settled;
  }

  /** Stores a settlement for Redis, which does not answer. */
  CompletableFuture<Optional<TokenSettlement>> storeSettlement(String id, long actual) {
    endAfterReturn();
    NodeGrants.Grant grant = grants.remove(id);
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

  /** Extends a grant that this node made without Redis. */
  boolean extend(String id) {
    endAfterReturn();
    NodeGrants.Grant grant = grants.find(id);
    if (grant != null && grant.unchecked()) {
      grants.extend(id);
      return true;
    }
    boolean extended = local.decide(store -> store.extend(replies.reservation(id))).orElse(false);
    return extended && grant == null;
  }

  /** Stores an extension for Redis, which does not answer, if this node knows the grant. */
  CompletableFuture<Boolean> storeExtension(String id, Throwable failure) {
    endAfterReturn();
    NodeGrants.Extended extended = grants.extend(id);
    if (extended == null) {
      return CompletableFuture.failedFuture(failure);
    }
    outbox.extend(extended);
    return CompletableFuture.completedFuture(true);
  }

  /** Cancels a ticket that the share decides. */
  boolean cancel(String id) {
    endAfterReturn();
    String ticket = replies.ticket(id);
    boolean known = local.isKnownToRedis(ticket);
    boolean canceled =
        grants.find(id) == null && local.decide(store -> store.cancel(ticket)).orElse(false);
    if (canceled && (known || local.isKnownToRedis(ticket))) {
      // Another node may have delivered a grant of Redis for it.
      outbox.cancel(id, false);
    }
    return canceled;
  }

  /** Stores a cancellation for Redis, which does not answer. */
  CompletableFuture<Boolean> storeCancellation(String id, boolean awaited) {
    endAfterReturn();
    boolean granted = grants.remove(id) != null;
    if (granted) {
      settleLocally(id, 0);
    }
    outbox.cancel(id, granted);
    return granted || awaited
        ? CompletableFuture.completedFuture(true)
        : CompletableFuture.failedFuture(
            GovernorFleetMember.storedForLater("cancellation of " + replies.ticket(id)));
  }

  /** Stores an adjustment for Redis, which does not answer. */
  void storeAdjustment(ProviderAdjustment adjustment) {
    adjustments.missed();
    local.adjust(adjustment);
  }

  void reload() {
    removed = false;
    grants.shorten();
    local.reload();
  }

  /** Denies all tickets from now on; grants can still be settled. */
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

  /**
   * Ends local decisions if a return has begun: from then on grants of the share belong to Redis.
   */
  private void endAfterReturn() {
    if (!fleet.isOut() && local.isRunning()) {
      local.end();
    }
  }

  /** Returns whether Redis has not confirmed the decisions of this node. */
  boolean isUnreported() {
    return !reports.isEmpty();
  }

  /** Remembers the status for a time in which Redis does not answer. */
  void remember(GovernorStatus.Model status) {
    lastStatus = status;
  }

  /** Returns the status of the share, or the last one of Redis, or an empty one. */
  GovernorStatus.Model status() {
    return local
        .decide(store -> store.status())
        .flatMap(status -> Optional.ofNullable(status.models().get(model)))
        .map(status -> replies.ofShare(status, scripts.config()))
        .or(() -> Optional.ofNullable(lastStatus))
        .orElseGet(() -> replies.nothingLeft(scripts.config()));
  }

  /** Returns whether Redis has data of another layout: then nothing is sent to it. */
  boolean hasOtherLayout() {
    return fleet.connection().hasOtherLayout();
  }

  /** Decides by this node's share, unless Redis has data of another layout. */
  void decideLocally() {
    if (hasOtherLayout()) {
      local.end();
    } else {
      local.open();
    }
  }

  /**
   * Ends local decisions, and reports them to Redis.
   *
   * @param config sends the configuration first
   */
  CompletableFuture<Void> report(Supplier<CompletableFuture<?>> config) {
    // Before the first call: from here on this node's calls grant no waiters.
    local.end();
    return config.get().thenCompose(configured -> send());
  }

  /** Sends everything that Redis has not confirmed. */
  CompletableFuture<Void> sendAgain() {
    if (!sending.compareAndSet(false, true)) {
      return CompletableFuture.allOf();
    }
    return send()
        .thenCompose(sent -> waitingList.sendLeaves())
        .whenComplete((done, failure) -> sending.set(false));
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
            .callDuringReturn(GovernorScript.CONFIGURE, missed.arguments())
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
