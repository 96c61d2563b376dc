package dev.sluice.governor.redis.store;

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
import dev.sluice.redis.connection.RedisFailure;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Where a model's tokens are asked for, in Redis. For any number of threads. */
final class RedisModelStore {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int ID_BYTES = 16;
  private static final String NO_DEADLINE = "0";

  /** How a message ends that says that books were made. */
  private static final String NEW_STATE = " new";

  private final String model;
  private final BudgetListener listener;
  private final ReplyMapper replies;
  private final ModelScripts scripts;
  private final TicketWaitingList waitingList;
  private final OutageModelStore outage;
  private final SerialRunner adjusting = new SerialRunner();

  /** Whether Redis may have somebody in line for it all the same. */
  private volatile boolean lineToEnd;

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
    public void heard(ScriptResult answer) {
      RedisModelStore.this.heard(answer);
    }

    @Override
    public List<NodeGrants.Grant> held() {
      return outage.held();
    }

    @Override
    public boolean isHeld(String id) {
      return outage.isOpen(id);
    }

    @Override
    public boolean isUnreported() {
      return outage.isUnreported();
    }

    @Override
    public String @Nullable [] adjusted() {
      AdjustmentState.NumberedAdjustment inForce = outage.adjustments().inForce();
      return inForce == null ? null : inForce.arguments();
    }

    @Override
    public void begun() {
      fleet.connection().subscribe(fleet.keys(model).channel(), RedisModelStore.this::heard);
    }
  }

  boolean isIdle() {
    return scripts.isIdle();
  }

  // ---- rules

  /** Tells Redis the rules if it has not confirmed them, and what else it was not told. */
  CompletableFuture<?> sendAgain() {
    CompletableFuture<?> rules =
        outage.isRemoved() || scripts.isConfirmed()
            ? CompletableFuture.allOf()
            : scripts.configure();
    return rules.thenCompose(told -> outage.sendAgain()).thenCompose(sent -> endLineIfRemoved());
  }

  /** Ends local decisions, and tells Redis what it has to know before it decides again. */
  CompletableFuture<?> report() {
    return outage
        .report(
            () ->
                outage.isRemoved() || scripts.isConfirmed() ? scripts.check() : scripts.configure())
        .thenCompose(sent -> endLineIfRemoved());
  }

  private CompletableFuture<Void> endLineIfRemoved() {
    return outage.isRemoved() && lineToEnd ? endLine() : CompletableFuture.allOf();
  }

  /** Redis has reserved this node's share. */
  void beAlone() {
    outage.beAlone();
  }

  /** Goes by these from now on; done when Redis does, too. */
  CompletableFuture<?> reload(ModelScriptConfig config) {
    scripts.use(config);
    outage.reload();
    return scripts.configure();
  }

  /** Refuses all tickets from now on; grants can still be settled. */
  CompletableFuture<?> remove() {
    lineToEnd = true;
    outage.remove();
    return endLine();
  }

  private CompletableFuture<Void> endLine() {
    return scripts
        .tell(GovernorScript.TICKET, "refuse", TokenDecision.Reason.REMOVED.name())
        .thenCompose(
            answer -> {
              if (answer.result().number(0) > 0) {
                return endLine();
              }
              lineToEnd = false;
              return CompletableFuture.allOf();
            });
  }

  CompletableFuture<?> adjust(ProviderAdjustment adjustment) {
    AdjustmentState adjustments = outage.adjustments();
    CompletableFuture<ScriptResult> call = new CompletableFuture<>();
    synchronized (adjustments) {
      // Redis hears of them in the same order; it is not asked under a lock, for that may tell
      // anybody that Redis is lost.
      String[] arguments = adjustments.add(adjustment).arguments();
      adjusting.add(() -> adjust(arguments, call));
    }
    adjusting.run();
    return orElse(
        call.thenApply(done -> true),
        failure -> {
          outage.keepAdjusted(adjustment);
          return CompletableFuture.completedFuture(true);
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends the call
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

  // ---- when Redis is away

  /** Replaces the failure of a call without a reply; other failures stay. */
  private static <T> CompletableFuture<T> orElse(
      CompletableFuture<T> call, Function<Throwable, CompletableFuture<T>> away) {
    return call.exceptionallyCompose(
        failure ->
            RedisFailure.isUnavailable(failure)
                ? away.apply(failure)
                : CompletableFuture.failedFuture(failure));
  }

  // ---- what every answer says, and the news

  private void heard(String message) {
    if (message.endsWith(NEW_STATE)) {
      // They have to know what is held here.
      var unused = scripts.check();
    }
    waitingList.heard(message);
  }

  private void heard(ScriptResult answer) {
    tellListener(answer);
    waitingList.heard(answer);
  }

  private synchronized void tellListener(ScriptResult answer) {
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

  // ---- asking

  CompletableFuture<TokenDecision> request(TokenRequest request) {
    return askAnyone("queue", request).thenApply(Optional::orElseThrow);
  }

  CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request) {
    return askAnyone("now", request);
  }

  CompletableFuture<Optional<TokenDecision>> find(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    Optional<TokenDecision> here = outage.findHere(request);
    return here.isPresent()
        ? CompletableFuture.completedFuture(here)
        : ask("find", newId(), request);
  }

  /**
   * Sends a request to Redis, or follows the outage mode. A request that Redis may have granted is
   * not granted here.
   */
  private CompletableFuture<Optional<TokenDecision>> askAnyone(String what, TokenRequest request) {
    Optional<TokenDecision> before = outage.findFree(request);
    if (before.isPresent()) {
      return CompletableFuture.completedFuture(before);
    }
    String id = newId();
    return orElse(
        ask(what, id, request),
        failure -> {
          boolean notAsked = RedisFailure.isUnsent(failure);
          if (!notAsked) {
            outage.unanswered(id, request);
          }
          return CompletableFuture.completedFuture(
              outage.ask(request, what.equals("now"), notAsked));
        });
  }

  private CompletableFuture<Optional<TokenDecision>> ask(
      String what, String id, TokenRequest request) {
    ModelScriptConfig config = scripts.config();
    boolean known = config.classes().contains(request.priorityClass());
    if (!known && !what.equals("find")) {
      throw BudgetStoreSupport.unknownClass(config.classes(), request.priorityClass());
    }
    Duration deadline = request.maxWait();
    String key = request.idempotencyKey();
    return scripts
        .call(
            GovernorScript.REQUEST,
            id,
            what,
            request.tenant(),
            request.priorityClass(),
            known ? Long.toString(BudgetStoreSupport.reserved(config.budget(), request)) : "0",
            Long.toString(request.tokens()),
            deadline == null ? NO_DEADLINE : Long.toString(ModelScriptConfig.micros(deadline)),
            key == null ? "" : key,
            key == null && config.isPlain() && !what.equals("find") ? "fast" : "")
        .thenApply(answer -> asked(request, answer, config));
  }

  /** That nobody guesses. */
  static String newId() {
    byte[] bytes = new byte[ID_BYTES];
    RANDOM.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** Another node has told Redis other classes than this one has. */
  private static IllegalArgumentException otherClasses(ScriptReply reply, TokenRequest request) {
    return new IllegalArgumentException(
        "priority must be one of %s, as configured by another node, but was %s"
            .formatted(reply.parts().subList(1, reply.size()), request.priorityClass()));
  }

  private Optional<TokenDecision> asked(
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
          tell(request, outcome, reply.text(1), answer);
        }
        yield Optional.of(outcome);
      }
    };
  }

  private synchronized void tell(
      TokenRequest request, TokenDecision outcome, String id, ScriptResult answer) {
    // One that came from the line in the same moment is in the news.
    boolean told = answer.decisions().stream().anyMatch(each -> each.id().equals(id));
    if (outcome instanceof TokenDecision.Granted granted && !told) {
      listener.granted(request, granted.tokens(), 0, answer.nanos());
    }
    listener.requested(request, outcome, answer.nanos());
  }

  CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    ModelScriptConfig config = scripts.config();
    if (!config.classes().contains(request.priorityClass())) {
      throw BudgetStoreSupport.unknownClass(config.classes(), request.priorityClass());
    }
    Optional<TokenExplanation> here = outage.local().decide(store -> store.explain(request));
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here.get());
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
    Optional<TokenDecision> here =
        outage.local().decide(store -> store.poll(replies.ticket(id))).flatMap(found -> found);
    return here.isPresent() ? CompletableFuture.completedFuture(here) : waitingList.poll(id);
  }

  CompletableFuture<Optional<TokenDecision>> await(String id) {
    return waitingList.await(id);
  }

  CompletableFuture<Boolean> cancel(String id) {
    if (outage.cancel(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orElse(
        scripts
            .call(GovernorScript.TICKET, "cancel", id)
            .thenApply(
                answer -> {
                  boolean cancelled = answer.result().number(0) == 1;
                  if (cancelled) {
                    outage.over(id);
                  }
                  return cancelled;
                }),
        failure -> outage.keepCancelled(id, waitingList.cancelled(id)));
  }

  /** Polls now what the timer would poll later. */
  void look() {
    waitingList.look();
  }

  // ---- reservations

  /** Returns the owner of a ticket or a reservation. */
  CompletableFuture<Optional<TokenOwner>> owner(String id) {
    Optional<TokenOwner> here = outage.owner(id);
    return here.isPresent()
        ? CompletableFuture.completedFuture(here)
        : scripts
            .call(GovernorScript.POLL, "owner", id)
            .thenApply(answer -> replies.owner(answer.result()));
  }

  CompletableFuture<Optional<TokenSettlement>> settle(String id, long actual) {
    Optional<TokenSettlement> here = outage.settle(id, actual);
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here);
    }
    return orElse(
        scripts
            .call(
                GovernorScript.SETTLE, SettlementOutbox.settlement(id, actual, !outage.isOpen(id)))
            .thenApply(
                answer -> {
                  outage.over(id);
                  return Optional.ofNullable(settled(answer, actual));
                }),
        failure -> outage.keepSettled(id, actual));
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
    return orElse(
        scripts
            .call(GovernorScript.SETTLE, SettlementOutbox.extension(id, !outage.isOpen(id)))
            .thenApply(
                answer -> {
                  boolean lives = answer.result().size() > 0;
                  if (lives) {
                    outage.livesOn(id);
                  } else {
                    outage.over(id);
                  }
                  return lives;
                }),
        failure -> outage.keepExtended(id, failure));
  }

  // ---- the end, and how it stands

  CompletableFuture<GovernorStatus.Model> status() {
    return orElse(
        scripts
            .call(GovernorScript.POLL, "status")
            .thenApply(
                answer -> {
                  GovernorStatus.Model status = replies.status(answer.result(), scripts.config());
                  outage.stands(status);
                  return status;
                }),
        failure -> CompletableFuture.completedFuture(outage.status()));
  }

  CompletableFuture<WaitingListStatus> waitingList(int offset, int limit) {
    Optional<WaitingListStatus> here =
        outage.local().decide(store -> store.waitingList(model, offset, limit));
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here.get());
    }
    return scripts
        .call(GovernorScript.POLL, "waitingList", Integer.toString(offset), Integer.toString(limit))
        .thenApply(answer -> replies.waitingList(answer.result()));
  }

  /** Fails the waiters of this node. Their tickets stay in the waiting list until they expire. */
  void close(Duration patience) {
    waitingList.close(patience);
    outage.close();
  }
}
