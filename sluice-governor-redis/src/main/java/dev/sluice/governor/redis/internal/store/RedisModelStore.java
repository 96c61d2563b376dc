package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.internal.connection.RedisFailure;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The budget and the waiting list of one model, in Redis. Thread-safe. */
final class RedisModelStore {
  private static final String NO_DEADLINE = "0";

  /** The end of a notice about new state. */
  private static final String NEW_STATE = " new";

  private final String model;
  private final BudgetListener listener;
  private final ReplyMapper replies;
  private final ModelScripts scripts;
  private final TicketWaitingList waitingList;
  private final OutageModelStore outage;
  private final SerialRunner adjusting = new SerialRunner();

  /** Whether Redis may still have waiters of the removed model. */
  private volatile boolean waitersToDeny;

  RedisModelStore(
      String model,
      ModelScriptConfig config,
      GovernorFleetMember fleet,
      StoreTimer timer,
      BudgetListener listener) {
    this.model = model;
    this.listener = new SequentialBudgetListener(listener);
    this.replies = new ReplyMapper(model);
    this.scripts =
        new ModelScripts(fleet, model, config, timer, new RedisModelStore.ScriptCallbacks(fleet));
    this.outage =
        new OutageModelStore(
            model,
            fleet,
            scripts,
            timer,
            this.listener,
            new SettlementOutbox(
                model, scripts, timer, (answer, actual) -> settled(answer, actual)));
    this.waitingList = outage.waitingList();
  }

  /** The callbacks of {@link ModelScripts}. */
  private final class ScriptCallbacks implements ModelScripts.Owner {
    private final GovernorFleetMember fleet;

    ScriptCallbacks(GovernorFleetMember fleet) {
      this.fleet = fleet;
    }

    @Override
    public void received(ScriptResult answer) {
      RedisModelStore.this.received(answer);
    }

    @Override
    public List<NodeGrants.Grant> openGrants() {
      return outage.openGrants();
    }

    @Override
    public boolean isOpen(String id) {
      return outage.isOpen(id);
    }

    @Override
    public boolean isUnreported() {
      return outage.isUnreported();
    }

    @Override
    public String @Nullable [] adjustment() {
      AdjustmentState.NumberedAdjustment inForce = outage.adjustments().inForce();
      return inForce == null ? null : inForce.arguments();
    }

    @Override
    public void stateKnown() {
      fleet.connection().subscribe(fleet.keys(model).channel(), RedisModelStore.this::received);
    }
  }

  boolean isIdle() {
    return scripts.isIdle();
  }

  // ---- configuration

  /** Sends the configuration and all other messages that Redis has not confirmed. */
  CompletableFuture<?> sendAgain() {
    CompletableFuture<?> configured =
        outage.isRemoved() || scripts.isConfirmed()
            ? CompletableFuture.allOf()
            : scripts.configure();
    return configured.thenCompose(done -> outage.sendAgain()).thenCompose(sent -> denyIfRemoved());
  }

  /** Ends local decisions, and reports them to Redis before it decides again. */
  CompletableFuture<?> report() {
    return outage
        .report(
            () ->
                outage.isRemoved() || scripts.isConfirmed() ? scripts.check() : scripts.configure())
        .thenCompose(sent -> denyIfRemoved());
  }

  private CompletableFuture<Void> denyIfRemoved() {
    return outage.isRemoved() && waitersToDeny ? denyWaiters() : CompletableFuture.allOf();
  }

  /** Decides by this node's share, which Redis has reserved. */
  void decideLocally() {
    outage.decideLocally();
  }

  /** Applies a configuration; completes when Redis has it, too. */
  CompletableFuture<?> reload(ModelScriptConfig config) {
    scripts.use(config);
    outage.reload();
    return scripts.configure();
  }

  /** Denies all tickets from now on; grants can still be settled. */
  CompletableFuture<?> remove() {
    waitersToDeny = true;
    outage.remove();
    return denyWaiters();
  }

  private CompletableFuture<Void> denyWaiters() {
    return scripts
        .callDuringReturn(GovernorScript.TICKET, "refuse", TokenDecision.Reason.REMOVED.name())
        .thenCompose(
            answer -> {
              if (answer.result().number(0) > 0) {
                return denyWaiters();
              }
              waitersToDeny = false;
              return CompletableFuture.allOf();
            });
  }

  CompletableFuture<?> adjust(ProviderAdjustment adjustment) {
    AdjustmentState adjustments = outage.adjustments();
    CompletableFuture<ScriptResult> call = new CompletableFuture<>();
    synchronized (adjustments) {
      // Sent in the same order, but not under a lock: a call may report an outage to any listener.
      String[] arguments = adjustments.add(adjustment).arguments();
      adjusting.add(() -> adjust(arguments, call));
    }
    adjusting.run();
    return orStore(
        call.thenApply(done -> true),
        failure -> {
          outage.storeAdjustment(adjustment);
          return CompletableFuture.completedFuture(true);
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it completes the call
  private void adjust(String[] arguments, CompletableFuture<ScriptResult> call) {
    scripts
        .call(GovernorScript.CONFIGURE, arguments)
        .whenComplete(
            (answer, failure) -> {
              if (failure == null) {
                call.complete(answer);
              } else {
                call.completeExceptionally(failure);
              }
            });
  }

  // ---- outages

  /** Replaces the failure of a call without a reply; other failures stay. */
  private static <T> CompletableFuture<T> orElse(
      CompletableFuture<T> call, Function<Throwable, CompletableFuture<T>> fallback) {
    return call.exceptionallyCompose(
        failure ->
            RedisFailure.isUnavailable(failure)
                ? fallback.apply(failure)
                : CompletableFuture.failedFuture(failure));
  }

  /** {@link #orElse} for changes that are sent later, also if Redis has data of another layout. */
  private <T> CompletableFuture<T> orStore(
      CompletableFuture<T> call, Function<Throwable, CompletableFuture<T>> fallback) {
    return call.exceptionallyCompose(
        failure ->
            RedisFailure.isUnavailable(failure) || outage.hasOtherLayout()
                ? fallback.apply(failure)
                : CompletableFuture.failedFuture(failure));
  }

  // ---- results and notices

  private void received(String message) {
    if (message.endsWith(NEW_STATE)) {
      // The new state needs the grants of this node.
      var unused = scripts.check();
    }
    waitingList.received(message);
  }

  private void received(ScriptResult answer) {
    notifyListener(answer);
    waitingList.received(answer);
  }

  private synchronized void notifyListener(ScriptResult answer) {
    if (answer.refilled() > 0) {
      listener.refilled(model, answer.refilled(), answer.level(), answer.nanos());
    }
    answer.forEachDecision(
        each -> {
          if (each.granted()) {
            listener.granted(
                each.request(model), each.tokens(), each.waitedNanos(), answer.nanos());
          }
        });
  }

  // ---- requests

  CompletableFuture<TokenDecision> request(TokenRequest request) {
    return decide("queue", request).thenApply(Optional::orElseThrow);
  }

  CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request) {
    return decide("now", request);
  }

  CompletableFuture<Optional<TokenDecision>> find(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    Optional<TokenDecision> local = outage.findLocally(request);
    return local.isPresent()
        ? CompletableFuture.completedFuture(local)
        : ask("find", RandomIds.newId(), request);
  }

  /**
   * Sends a request to Redis, or follows the outage mode. A request that Redis may have granted is
   * not granted here.
   */
  private CompletableFuture<Optional<TokenDecision>> decide(String mode, TokenRequest request) {
    Optional<TokenDecision> before = outage.findUnchecked(request);
    if (before.isPresent()) {
      return CompletableFuture.completedFuture(before);
    }
    String id = RandomIds.newId();
    return orElse(
        ask(mode, id, request),
        failure -> {
          boolean notAsked = RedisFailure.isUnsent(failure);
          if (!notAsked) {
            outage.unanswered(id, request);
          }
          return CompletableFuture.completedFuture(
              outage.ask(request, mode.equals("now"), notAsked));
        });
  }

  private CompletableFuture<Optional<TokenDecision>> ask(
      String mode, String id, TokenRequest request) {
    ModelScriptConfig config = scripts.config();
    boolean known = config.classes().contains(request.priorityClass());
    if (!known && !mode.equals("find")) {
      throw BudgetStoreSupport.unknownClass(config.classes(), request.priorityClass());
    }
    Duration deadline = request.maxWait();
    String key = request.idempotencyKey();
    return scripts
        .call(
            GovernorScript.REQUEST,
            id,
            mode,
            request.tenant(),
            request.priorityClass(),
            known ? Long.toString(BudgetStoreSupport.reserved(config.budget(), request)) : "0",
            Long.toString(request.tokens()),
            deadline == null ? NO_DEADLINE : Long.toString(ModelScriptConfig.micros(deadline)),
            key == null ? "" : key,
            key == null && config.isPlain() && !mode.equals("find") ? "fast" : "")
        .thenApply(answer -> decision(request, answer, config));
  }

  /** Returns the error if another node has configured other priority classes. */
  private static IllegalArgumentException otherClasses(ScriptReply reply, TokenRequest request) {
    return new IllegalArgumentException(
        "priority must be one of %s, as configured by another node, but was %s"
            .formatted(reply.parts().subList(1, reply.size()), request.priorityClass()));
  }

  private Optional<TokenDecision> decision(
      TokenRequest request, ScriptResult answer, ModelScriptConfig config) {
    ScriptReply reply = answer.result();
    return switch (reply.kind()) {
      case 'n' -> Optional.empty();
      case 'k' -> throw otherClasses(reply, request);
      case 'x' -> throw BudgetStoreSupport.otherRequest(request, reply.number(1), reply.text(2));
      default -> {
        TokenDecision outcome = replies.outcome(request, reply, config);
        outage.answered(request);
        if (outcome instanceof TokenDecision.Granted granted) {
          outage.granted(granted, request.tenant(), request.idempotencyKey());
        }
        if (answer.asked()) {
          notifyListener(request, outcome, reply.text(1), answer);
        }
        yield Optional.of(outcome);
      }
    };
  }

  private synchronized void notifyListener(
      TokenRequest request, TokenDecision outcome, String id, ScriptResult answer) {
    // A ticket that was granted in the same call is among its decisions.
    boolean isDecision = answer.decisions().stream().anyMatch(each -> each.id().equals(id));
    if (outcome instanceof TokenDecision.Granted granted && !isDecision) {
      listener.granted(request, granted.tokens(), 0, answer.nanos());
    }
    listener.requested(request, outcome, answer.nanos());
  }

  CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    ModelScriptConfig config = scripts.config();
    if (!config.classes().contains(request.priorityClass())) {
      throw BudgetStoreSupport.unknownClass(config.classes(), request.priorityClass());
    }
    Optional<TokenExplanation> local = outage.local().decide(store -> store.explain(request));
    if (local.isPresent()) {
      return CompletableFuture.completedFuture(local.get());
    }
    return scripts
        .call(
            GovernorScript.POLL,
            "explain",
            request.tenant(),
            request.priorityClass(),
            Long.toString(BudgetStoreSupport.reserved(config.budget(), request)))
        .thenApply(
            answer -> {
              if (answer.result().kind() == 'k') {
                throw otherClasses(answer.result(), request);
              }
              return replies.explanation(request, answer.result(), config);
            });
  }

  // ---- tickets

  CompletableFuture<Optional<TokenDecision>> poll(String id) {
    Optional<TokenDecision> local =
        outage.local().decide(store -> store.poll(replies.ticket(id))).flatMap(found -> found);
    return local.isPresent() ? CompletableFuture.completedFuture(local) : waitingList.poll(id);
  }

  CompletableFuture<Optional<TokenDecision>> await(String id) {
    return waitingList.await(id);
  }

  CompletableFuture<Boolean> cancel(String id) {
    if (outage.cancel(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orStore(
        scripts
            .call(GovernorScript.TICKET, "cancel", id)
            .thenApply(
                answer -> {
                  boolean cancelled = answer.result().number(0) == 1;
                  if (cancelled) {
                    outage.ended(id);
                  }
                  return cancelled;
                }),
        failure -> outage.storeCancellation(id, waitingList.cancelled(id)));
  }

  /** Checks the waiting list now, before the timer does. */
  void check() {
    waitingList.check();
  }

  // ---- reservations

  /** Returns the owner of a ticket or a reservation. */
  CompletableFuture<Optional<TokenOwner>> owner(String id) {
    Optional<TokenOwner> local = outage.owner(id);
    return local.isPresent()
        ? CompletableFuture.completedFuture(local)
        : scripts
            .call(GovernorScript.POLL, "owner", id)
            .thenApply(answer -> replies.owner(answer.result()));
  }

  CompletableFuture<Optional<TokenSettlement>> settle(String id, long actual) {
    Optional<TokenSettlement> local = outage.settle(id, actual);
    if (local.isPresent()) {
      return CompletableFuture.completedFuture(local);
    }
    return orStore(
        scripts
            .call(
                GovernorScript.SETTLE, SettlementOutbox.settlement(id, actual, !outage.isOpen(id)))
            .thenApply(
                answer -> {
                  outage.ended(id);
                  return Optional.ofNullable(settled(answer, actual));
                }),
        failure -> outage.storeSettlement(id, actual));
  }

  private synchronized @Nullable TokenSettlement settled(ScriptResult answer, long actual) {
    ScriptReply reply = answer.result();
    if (reply.size() == 0) {
      return null;
    }
    TokenSettlement settlement = replies.settlement(reply, actual);
    listener.settled(settlement, ScriptResult.nanos(reply.number(4)), answer.nanos());
    return settlement;
  }

  CompletableFuture<Boolean> extend(String id) {
    if (outage.extend(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orStore(
        scripts
            .call(GovernorScript.SETTLE, SettlementOutbox.extension(id, !outage.isOpen(id)))
            .thenApply(
                answer -> {
                  boolean extended = answer.result().size() > 0;
                  if (extended) {
                    outage.extended(id);
                  } else {
                    outage.ended(id);
                  }
                  return extended;
                }),
        failure -> outage.storeExtension(id, failure));
  }

  // ---- status, and the end

  CompletableFuture<GovernorStatus.Model> status() {
    return orElse(
        scripts
            .call(GovernorScript.POLL, "status")
            .thenApply(
                answer -> {
                  GovernorStatus.Model status = replies.status(answer.result(), scripts.config());
                  outage.remember(status);
                  return status;
                }),
        failure -> CompletableFuture.completedFuture(outage.status()));
  }

  CompletableFuture<WaitingListStatus> waitingList(int offset, int limit) {
    Optional<WaitingListStatus> local =
        outage.local().decide(store -> store.waitingList(model, offset, limit));
    if (local.isPresent()) {
      return CompletableFuture.completedFuture(local.get());
    }
    return scripts
        .call(GovernorScript.POLL, "waitingList", Integer.toString(offset), Integer.toString(limit))
        .thenApply(answer -> replies.waitingList(answer.result()));
  }

  /** Fails the waiters of this node. Their tickets stay in the waiting list until they expire. */
  void close(Duration timeout) {
    waitingList.close(timeout);
    outage.close();
  }
}
