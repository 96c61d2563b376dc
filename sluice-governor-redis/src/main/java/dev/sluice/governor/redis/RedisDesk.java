package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.ModelQueue;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Where a model's tokens are asked for, in Redis. For any number of threads. */
final class RedisDesk {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int ID_BYTES = 16;
  private static final String NO_DEADLINE = "0";

  /** How a message ends that says that books were made. */
  private static final String NEW_BOOKS = " new";

  private final String model;
  private final BudgetListener listener;
  private final Replies replies;
  private final ModelBooks books;
  private final WaitingRoom room;
  private final Outage outage;
  private final InOrder adjusting = new InOrder();

  /** Whether Redis may have somebody in line for it all the same. */
  private volatile boolean lineToEnd;

  RedisDesk(
      String model, ModelTerms terms, Fleet fleet, GovernorTimer timer, BudgetListener listener) {
    this.model = model;
    this.listener = new OneAtATime(listener);
    this.replies = new Replies(model);
    this.books = new ModelBooks(fleet, model, terms, timer, new FromBooks(fleet));
    this.outage =
        new Outage(
            model,
            fleet,
            books,
            timer,
            this.listener,
            new SettlementOutbox(model, books, timer, (answer, actual) -> settled(answer, actual)));
    this.room = outage.room();
  }

  /** What its books tell this desk, and ask of it. */
  private final class FromBooks implements ModelBooks.Desk {
    private final Fleet fleet;

    FromBooks(Fleet fleet) {
      this.fleet = fleet;
    }

    @Override
    public void heard(Answer answer) {
      RedisDesk.this.heard(answer);
    }

    @Override
    public List<OpenGrants.Grant> held() {
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
      Adjustments.Heard inForce = outage.adjustments().inForce();
      return inForce == null ? null : inForce.words();
    }

    @Override
    public void begun() {
      fleet.connection().subscribe(fleet.keys(model).channel(), RedisDesk.this::heard);
    }
  }

  boolean isQuiet() {
    return books.isQuiet();
  }

  // ---- rules

  /** Tells Redis the rules if it has not confirmed them, and what else it was not told. */
  CompletableFuture<?> sendAgain() {
    CompletableFuture<?> rules =
        outage.isRemoved() || books.isConfirmed() ? CompletableFuture.allOf() : books.configure();
    return rules.thenCompose(told -> outage.sendAgain()).thenCompose(sent -> endLineIfRemoved());
  }

  /** Ends local decisions, and tells Redis what it has to know before it decides again. */
  CompletableFuture<?> report() {
    return outage
        .report(() -> outage.isRemoved() || books.isConfirmed() ? books.check() : books.configure())
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
  CompletableFuture<?> reload(ModelTerms terms) {
    books.use(terms);
    outage.reload();
    return books.configure();
  }

  /** Refuses all tickets from now on; grants can still be settled. */
  CompletableFuture<?> remove() {
    lineToEnd = true;
    outage.remove();
    return endLine();
  }

  private CompletableFuture<Void> endLine() {
    return books
        .tell(Script.TICKET, "refuse", Outcome.Reason.REMOVED.name())
        .thenCompose(
            answer -> {
              if (answer.result().number(0) > 0) {
                return endLine();
              }
              lineToEnd = false;
              return CompletableFuture.allOf();
            });
  }

  CompletableFuture<?> adjust(Adjustment adjustment) {
    Adjustments adjustments = outage.adjustments();
    CompletableFuture<Answer> call = new CompletableFuture<>();
    synchronized (adjustments) {
      // Redis hears of them in the same order; it is not asked under a lock, for that may tell
      // anybody that Redis is lost.
      String[] words = adjustments.hear(adjustment).words();
      adjusting.add(() -> adjust(words, call));
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
  private void adjust(String[] words, CompletableFuture<Answer> call) {
    books
        .call(Script.RULES, words)
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

  /** What is said if Redis does not answer; other failures stay. */
  private static <T> CompletableFuture<T> orElse(
      CompletableFuture<T> call, Function<Throwable, CompletableFuture<T>> away) {
    return call.exceptionallyCompose(
        failure ->
            BudgetUnavailableException.isCauseOf(failure)
                ? away.apply(failure)
                : CompletableFuture.failedFuture(failure));
  }

  // ---- what every answer says, and the news

  private void heard(String message) {
    if (message.endsWith(NEW_BOOKS)) {
      // They have to know what is held here.
      var unused = books.check();
    }
    room.heard(message);
  }

  private void heard(Answer answer) {
    tellListener(answer);
    room.heard(answer);
  }

  private synchronized void tellListener(Answer answer) {
    if (answer.refilled() > 0) {
      listener.refilled(model, answer.refilled(), answer.level(), answer.nanos());
    }
    answer.forEachNews(
        each -> {
          if (each.granted()) {
            listener.granted(
                each.request(model), each.tokens(), each.waitedNanos(), answer.nanos());
          }
        });
  }

  // ---- asking

  CompletableFuture<Outcome> request(TokenRequest request) {
    return askAnyone("queue", request).thenApply(Optional::orElseThrow);
  }

  CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    return askAnyone("now", request);
  }

  CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    Optional<Outcome> here = outage.findHere(request);
    return here.isPresent()
        ? CompletableFuture.completedFuture(here)
        : ask("find", newId(), request);
  }

  /**
   * Asks Redis; the outage policy if that is away. What Redis may have granted is not granted here.
   */
  private CompletableFuture<Optional<Outcome>> askAnyone(String what, TokenRequest request) {
    Optional<Outcome> before = outage.findFree(request);
    if (before.isPresent()) {
      return CompletableFuture.completedFuture(before);
    }
    String id = newId();
    return orElse(
        ask(what, id, request),
        failure -> {
          boolean notAsked = BudgetUnavailableException.isBeforeAsking(failure);
          if (!notAsked) {
            outage.unanswered(id, request);
          }
          return CompletableFuture.completedFuture(
              outage.ask(request, what.equals("now"), notAsked));
        });
  }

  private CompletableFuture<Optional<Outcome>> ask(String what, String id, TokenRequest request) {
    ModelTerms terms = books.terms();
    boolean known = terms.classes().contains(request.priority());
    if (!known && !what.equals("find")) {
      throw StoreTerms.unknownClass(terms.classes(), request.priority());
    }
    Duration deadline = request.deadline();
    String key = request.idempotencyKey();
    return books
        .call(
            Script.ASK,
            id,
            what,
            request.tenant(),
            request.priority(),
            known ? Long.toString(StoreTerms.reserved(terms.budget(), request)) : "0",
            Long.toString(request.tokens()),
            deadline == null ? NO_DEADLINE : Long.toString(ModelTerms.micros(deadline)),
            key == null ? "" : key,
            key == null && terms.isPlain() && !what.equals("find") ? "quick" : "")
        .thenApply(answer -> asked(request, answer, terms));
  }

  /** That nobody guesses. */
  static String newId() {
    byte[] bytes = new byte[ID_BYTES];
    RANDOM.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** Another node has told Redis other classes than this one has. */
  private static IllegalArgumentException otherClasses(Reply said, TokenRequest request) {
    return new IllegalArgumentException(
        "priority must be one of %s, by the rules that another node has loaded: %s"
            .formatted(said.parts().subList(1, said.size()), request.priority()));
  }

  private Optional<Outcome> asked(TokenRequest request, Answer answer, ModelTerms terms) {
    Reply said = answer.result();
    return switch (said.kind()) {
      case 'n' -> Optional.empty();
      case 'k' -> throw otherClasses(said, request);
      case 'x' -> throw StoreTerms.otherRequest(request, said.number(1), said.text(2));
      default -> {
        Outcome outcome = replies.outcome(request, said, terms);
        outage.answered(request);
        if (outcome instanceof Outcome.Granted granted) {
          outage.granted(granted, request.tenant(), request.idempotencyKey());
        }
        if (answer.asked()) {
          tell(request, outcome, said.text(1), answer);
        }
        yield Optional.of(outcome);
      }
    };
  }

  private synchronized void tell(TokenRequest request, Outcome outcome, String id, Answer answer) {
    // One that came from the line in the same moment is in the news.
    boolean told = answer.news().stream().anyMatch(each -> each.id().equals(id));
    if (outcome instanceof Outcome.Granted granted && !told) {
      listener.granted(request, granted.tokens(), 0, answer.nanos());
    }
    listener.asked(request, outcome, answer.nanos());
  }

  CompletableFuture<Explanation> explain(TokenRequest request) {
    ModelTerms terms = books.terms();
    if (!terms.classes().contains(request.priority())) {
      throw StoreTerms.unknownClass(terms.classes(), request.priority());
    }
    Optional<Explanation> here = outage.local().decide(store -> store.explain(request));
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here.get());
    }
    return books
        .call(
            Script.LOOK,
            "explain",
            request.tenant(),
            request.priority(),
            Long.toString(StoreTerms.reserved(terms.budget(), request)))
        .thenApply(
            answer -> {
              if (answer.result().kind() == 'k') {
                throw otherClasses(answer.result(), request);
              }
              return replies.explanation(request, answer.result(), terms);
            });
  }

  // ---- tickets

  CompletableFuture<Optional<Outcome>> poll(String id) {
    Optional<Outcome> here =
        outage.local().decide(store -> store.poll(replies.ticket(id))).flatMap(found -> found);
    return here.isPresent() ? CompletableFuture.completedFuture(here) : room.poll(id);
  }

  CompletableFuture<Optional<Outcome>> await(String id) {
    return room.await(id);
  }

  CompletableFuture<Boolean> cancel(String id) {
    if (outage.cancel(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orElse(
        books
            .call(Script.TICKET, "cancel", id)
            .thenApply(
                answer -> {
                  boolean cancelled = answer.result().number(0) == 1;
                  if (cancelled) {
                    outage.over(id);
                  }
                  return cancelled;
                }),
        failure -> outage.keepCancelled(id, room.cancelled(id)));
  }

  /** What has come meanwhile; by itself it looks in time. */
  void look() {
    room.look();
  }

  // ---- reservations

  /** Whose a ticket or a reservation is. */
  CompletableFuture<Optional<TokenOwner>> owner(String id) {
    Optional<TokenOwner> here = outage.owner(id);
    return here.isPresent()
        ? CompletableFuture.completedFuture(here)
        : books.call(Script.LOOK, "owner", id).thenApply(answer -> replies.owner(answer.result()));
  }

  CompletableFuture<Optional<Settlement>> settle(String id, long actual) {
    Optional<Settlement> here = outage.settle(id, actual);
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here);
    }
    return orElse(
        books
            .call(Script.SETTLE, SettlementOutbox.settlement(id, actual, !outage.isOpen(id)))
            .thenApply(
                answer -> {
                  outage.over(id);
                  return Optional.ofNullable(settled(answer, actual));
                }),
        failure -> outage.keepSettled(id, actual));
  }

  private synchronized @Nullable Settlement settled(Answer answer, long actual) {
    Reply said = answer.result();
    if (said.size() == 0) {
      return null;
    }
    Settlement settlement = replies.settlement(said, actual);
    listener.settled(settlement, Answer.nanos(said.number(4)), answer.nanos());
    return settlement;
  }

  CompletableFuture<Boolean> extend(String id) {
    if (outage.extend(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orElse(
        books
            .call(Script.SETTLE, SettlementOutbox.extension(id, !outage.isOpen(id)))
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
        books
            .call(Script.LOOK, "status")
            .thenApply(
                answer -> {
                  GovernorStatus.Model status = replies.status(answer.result(), books.terms());
                  outage.stands(status);
                  return status;
                }),
        failure -> CompletableFuture.completedFuture(outage.status()));
  }

  CompletableFuture<ModelQueue> queue(int offset, int limit) {
    Optional<ModelQueue> here = outage.local().decide(store -> store.queue(model, offset, limit));
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here.get());
    }
    return books
        .call(Script.LOOK, "line", Integer.toString(offset), Integer.toString(limit))
        .thenApply(answer -> replies.queue(answer.result()));
  }

  /** Who waits here is told that it is over; tickets stay in line, and are missed in time. */
  void close(Duration patience) {
    room.close(patience);
    outage.close();
  }
}
