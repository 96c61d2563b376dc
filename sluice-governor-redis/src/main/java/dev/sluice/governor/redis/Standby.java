package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.ModelLimits;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.OutagePolicy;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a desk does while Redis is away: decides by the policy, and keeps what Redis has to be told
 * when it is back. For any number of threads.
 */
final class Standby {
  /*
   * Concurrency. A share decides only inside Fleet.whileAlone, and ends while nobody is in there:
   * so it is charged before Redis is asked again. A share is made under the lock of this, inside of
   * which nothing else is called that takes one of a link.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  private final String model;
  private final Fleet fleet;
  private final ModelBooks books;
  private final Replies replies;
  private final GovernorTimer timer;
  private final BudgetListener listener;
  private final OpenGrants own;
  private final Kept kept;
  private final Charges charges;
  private final Unanswered unanswered = new Unanswered();

  private final Adjustments adjustments;
  private volatile GovernorStatus.@Nullable Model lastStatus;

  /** Written under the lock of this. */
  private volatile @Nullable Share share;

  Standby(
      String model,
      Fleet fleet,
      ModelBooks books,
      GovernorTimer timer,
      BudgetListener listener,
      Kept kept) {
    this.model = model;
    this.fleet = fleet;
    this.books = books;
    this.replies = new Replies(model);
    this.timer = timer;
    this.listener = listener;
    this.kept = kept;
    this.charges = new Charges(books, this::isOpen);
    this.adjustments = new Adjustments(timer);
    this.own = new OpenGrants(timer, () -> books.terms().rules().reservationLife().toNanos());
  }

  // ---- what Redis grants

  /** Somebody was told of it here. */
  void granted(Outcome.Granted answer, String tenant, @Nullable String key) {
    own.add(new OpenGrants.Grant(answer, tenant, key, false));
  }

  /** It is settled, as Redis has said. */
  void over(String id) {
    own.remove(id);
    kept.over(id);
  }

  /** Another node has settled it: new books may just be told here to hold it. */
  void overElsewhere(String id) {
    OpenGrants.Grant grant = own.find(id);
    over(id);
    if (grant != null && books.hasJoinedLately()) {
      kept.release(grant);
    }
  }

  /** Nobody was told of it. */
  void unheard(String id) {
    own.remove(id);
  }

  void livesOn(String id) {
    own.extend(id);
  }

  /** What books that do not know it have to hold. */
  List<OpenGrants.Grant> held() {
    return own.all().stream().filter(each -> !each.free()).toList();
  }

  /** Whether somebody was told of it here, and it is not settled. */
  boolean isOpen(String id) {
    return own.find(id) != null;
  }

  // ---- the share

  /** Begins if it has not; called under a lock of the link. */
  synchronized void begin(int nodes) {
    if (share == null && fleet.config().policy() == OutagePolicy.LOCAL) {
      Share next =
          new Share(
              model, books.terms(), nodes, own, timer, new Hearer(listener, fleet::serverNanos));
      Adjustments.Heard inForce = adjustments.inForce();
      if (inForce != null) {
        next.adjust(inForce.adjustment());
      }
      share = next;
    }
  }

  /** By the share; empty if Redis decides, or if there is none. */
  private <T> Optional<T> byShare(Function<Share, T> decision) {
    return fleet
        .whileAlone(
            nodes -> {
              if (share == null) {
                begin(nodes);
              }
              Share mine = share;
              return mine == null ? Optional.<T>empty() : Optional.of(decision.apply(mine));
            })
        .flatMap(decided -> decided);
  }

  // ---- asking

  /** A request that Redis does not answer; empty if it is back and can be asked. */
  Optional<Outcome> ask(TokenRequest request, boolean mayAskRedis) {
    Optional<Outcome> before = own.find(request);
    if (before.isPresent()) {
      return before;
    }
    Optional<Outcome> outcome = byPolicy(request, mayAskRedis);
    outcome
        .filter(Outcome.Refused.class::isInstance)
        .ifPresent(refused -> listener.asked(request, refused, fleet.serverNanos()));
    return outcome;
  }

  private Optional<Outcome> byPolicy(TokenRequest request, boolean mayAskRedis) {
    if (fleet.config().policy() == OutagePolicy.OPEN) {
      return Optional.of(grantedFreely(request));
    }
    long largest = largest(request);
    long tokens = StoreTerms.reserved(books.terms().budget(), request);
    if (tokens > largest) {
      return Optional.of(
          new Outcome.Refused(
              model,
              request.priority(),
              request.tokens(),
              0,
              Outcome.Reason.EXCEEDS_CAPACITY,
              StoreTerms.tooMany(largest, request.priority(), tokens)));
    }
    Optional<Outcome> here =
        byShare(
            mine ->
                mine.ask(request)
                    .map(granted -> forgoOthers(request, granted))
                    .orElseGet(() -> refused(request, mine)));
    return here.isPresent() || (mayAskRedis && fleet.link().isAvailable())
        ? here
        : Optional.of(replies.unavailable(request, 0, "Redis does not answer"));
  }

  private long largest(TokenRequest request) {
    ModelLimits limits = StoreTerms.limits(books.terms().budget());
    long most =
        limits.classes().stream()
            .filter(each -> each.name().equals(request.priority()))
            .mapToLong(ModelLimits.ClassLimit::ceiling)
            .findFirst()
            .orElse(0);
    ModelLimits.Rate tenant =
        limits.tenants().getOrDefault(request.tenant(), limits.otherTenants());
    return tenant == null ? most : Math.min(most, tenant.capacity());
  }

  private Outcome refused(TokenRequest request, Share mine) {
    return replies.unavailable(
        request,
        mine.available(),
        "Redis does not answer, and this node's share, 1/%d of the budget, has not enough now"
            .formatted(mine.nodes()));
  }

  private Outcome grantedFreely(TokenRequest request) {
    Outcome.Granted answer =
        new Outcome.Granted(
            model,
            request.priority(),
            StoreTerms.reserved(books.terms().budget(), request),
            request.tokens(),
            0,
            replies.reservation(RedisDesk.newId()));
    own.add(new OpenGrants.Grant(answer, request.tenant(), request.idempotencyKey(), true));
    listener.asked(request, answer, fleet.serverNanos());
    return forgoOthers(request, answer);
  }

  /**
   * Redis has not said what became of it, so nobody uses what it may have granted; with a key, it
   * is for whoever asks again.
   */
  void unanswered(String id, TokenRequest request) {
    if (request.idempotencyKey() == null) {
      kept.undo(id);
    } else {
      unanswered.add(id, request);
    }
  }

  /** Redis has said what there is under its key. */
  void answered(TokenRequest request) {
    if (request.idempotencyKey() != null) {
      unanswered.take(request);
    }
  }

  /** This has its key from now on: what Redis may have granted under it is not asked for again. */
  private Outcome forgoOthers(TokenRequest request, Outcome granted) {
    unanswered.take(request).forEach(kept::forgo);
    return granted;
  }

  /** What was granted under the same key without Redis, of which it is not told. */
  Optional<Outcome> findFree(TokenRequest request) {
    return request.idempotencyKey() == null ? Optional.empty() : own.findFree(request);
  }

  /** What was granted here, or known here, under the same key. */
  Optional<Outcome> find(TokenRequest request) {
    return byShare(mine -> mine.find(request))
        .flatMap(found -> found)
        .or(() -> findFree(request))
        .or(() -> fleet.link().isAvailable() ? Optional.empty() : own.find(request));
  }

  // ---- reservations

  /** As far as it is known here. */
  Optional<TokenOwner> owner(String id) {
    return Optional.ofNullable(own.find(id))
        .map(OpenGrants.Grant::owner)
        .or(() -> byShare(mine -> mine.owner(id)).flatMap(found -> found));
  }

  /** By this node alone, if it granted it alone. */
  Optional<Settlement> settle(String id, long actual) {
    OpenGrants.Grant grant = own.find(id);
    if (grant != null && grant.free()) {
      own.remove(id);
      return Optional.of(grant.settled(actual, books.terms().budget().mostCharged()));
    }
    return byShare(mine -> mine.settle(id, actual)).flatMap(settled -> settled);
  }

  /** Redis does not answer: it is told later. */
  CompletableFuture<Optional<Settlement>> keepSettled(String id, long actual) {
    OpenGrants.Grant grant = own.remove(id);
    if (!kept.settle(id, actual, grant == null)) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return grant == null
        ? CompletableFuture.failedFuture(
            BudgetUnavailableException.kept("settlement of " + replies.reservation(id)))
        : CompletableFuture.completedFuture(
            Optional.of(grant.settled(actual, books.terms().budget().mostCharged())));
  }

  /** By this node alone, if it granted it alone. */
  boolean extend(String id) {
    OpenGrants.Grant grant = own.find(id);
    if (grant != null && grant.free()) {
      own.extend(id);
      return true;
    }
    return byShare(mine -> mine.extend(id)).orElse(false);
  }

  /** Redis does not answer: it is told later of what is known here. */
  CompletableFuture<Boolean> keepExtended(String id, Throwable failure) {
    OpenGrants.Grant grant = own.extend(id);
    if (grant == null) {
      return CompletableFuture.failedFuture(failure);
    }
    kept.extend(grant);
    return CompletableFuture.completedFuture(true);
  }

  /** Redis does not answer: it is told later. */
  CompletableFuture<Boolean> keepCancelled(String id, boolean awaited) {
    boolean granted = own.remove(id) != null;
    kept.cancel(id, granted);
    return granted || awaited
        ? CompletableFuture.completedFuture(true)
        : CompletableFuture.failedFuture(
            BudgetUnavailableException.kept("cancellation of " + replies.ticket(id)));
  }

  // ---- rules

  /** What a share goes by, too. */
  Adjustments adjustments() {
    return adjustments;
  }

  /** Redis does not answer: it is told later. */
  void keepAdjusted(Adjustments.Heard heard) {
    adjustments.keep(heard);
    byShare(
        mine -> {
          mine.adjust(adjustments.withLastFactor(heard.adjustment()));
          return true;
        });
  }

  void reload(ModelTerms terms) {
    own.shorten();
    byShare(
        mine -> {
          mine.reload(terms);
          return true;
        });
  }

  // ---- how it stands

  /** For when Redis does not answer. */
  void stands(GovernorStatus.Model status) {
    lastStatus = status;
  }

  /** Of the share, or as Redis said last, or that there is nothing. */
  GovernorStatus.Model status() {
    return byShare(Share::status)
        .flatMap(found -> found)
        .or(() -> Optional.ofNullable(lastStatus))
        .orElseGet(() -> replies.nothingLeft(books.terms()));
  }

  // ---- the return

  /** That Redis still has the books that are known here: on return, and while they matter. */
  CompletableFuture<Void> check() {
    return own.size() == 0 && fleet.link().isAvailable()
        ? CompletableFuture.allOf()
        : books.check();
  }

  /** What Redis has not confirmed. */
  CompletableFuture<Void> sendAgain() {
    return CompletableFuture.allOf(sendKept(), charges.send(), sendAdjustment());
  }

  private CompletableFuture<Void> sendKept() {
    return kept.send(Kept.AT_ONCE, this::isOpen);
  }

  private CompletableFuture<?> sendAdjustment() {
    Adjustments.Heard mine = adjustments.unsent();
    return mine == null
        ? CompletableFuture.allOf()
        : books.probe(Script.RULES, mine.words()).thenRun(() -> adjustments.told(mine));
  }

  /** All that was kept so far, so that little is left for the moment of the return. */
  CompletableFuture<Void> settleUp() {
    return kept.size() == 0
        ? CompletableFuture.allOf()
        : sendKept().thenComposeAsync(done -> settleUp(), fleet::execute);
  }

  /**
   * Redis decides from now on; called while nobody is in {@link Fleet#whileAlone}. Sends what it
   * has to know before, and says what was granted.
   *
   * @param pauseMicros in which nothing is granted, so that others can return
   */
  List<Charge> comeBack(long pauseMicros) {
    Share mine = takeShare();
    List<Charge> told = mine == null ? List.of() : mine.end();
    told.forEach(
        each -> {
          each.open().forEach(own::add);
          if (pauseMicros > 0 || !each.isNothing()) {
            charges.add(each, pauseMicros);
          }
        });
    // In this order, over one connection. What is not confirmed is sent again.
    var unused = CompletableFuture.allOf(sendKept(), sendAdjustment(), charges.send());
    return told;
  }

  private synchronized @Nullable Share takeShare() {
    Share mine = share;
    share = null;
    return mine;
  }

  void close() {
    Share mine = share;
    if (mine != null) {
      mine.close();
    }
    if (kept.size() > 0 || !charges.isSettled()) {
      LOG.warn(
          "model {}: closed while Redis is away: {} settlements and what was granted meanwhile are"
              + " not told",
          model,
          kept.size());
    }
  }
}
