package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
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

  private final String model;
  private final BudgetListener listener;
  private final Replies replies;
  private final ModelBooks books;
  private final WaitingRoom room;
  private final Standby standby;

  RedisDesk(
      String model, ModelTerms terms, Fleet fleet, GovernorTimer timer, BudgetListener listener) {
    this.model = model;
    this.listener = new OneAtATime(listener);
    this.replies = new Replies(model);
    this.books = new ModelBooks(fleet, model, terms, this::heard);
    this.standby =
        new Standby(
            model,
            fleet,
            books,
            timer,
            this.listener,
            new Kept(model, books, (answer, actual) -> settled(answer, actual)));
    this.room = new WaitingRoom(books, replies, timer, fleet.config().spreadNanos(), standby);
    fleet.link().subscribe(fleet.keys(model).channel(), room::heard);
  }

  boolean isQuiet() {
    return books.isQuiet();
  }

  // ---- rules

  /** Tells Redis the rules if it has not confirmed them, and what else it was not told. */
  CompletableFuture<?> sendAgain() {
    return books.isConfirmed()
        ? standby.sendAgain()
        : books.configure().thenCompose(done -> standby.sendAgain());
  }

  /** Goes by these from now on; done when Redis does, too. */
  CompletableFuture<?> reload(ModelTerms terms) {
    books.use(terms);
    standby.reload(terms);
    return books.configure();
  }

  /** Nobody may be in line any more; what was granted can still be settled. */
  CompletableFuture<Long> refuseAll(Outcome.Reason why) {
    return books
        .call(Script.TICKET, "refuse", why.name())
        .thenApply(answer -> answer.result().number(0))
        .thenCompose(left -> left == 0 ? CompletableFuture.completedFuture(left) : refuseAll(why));
  }

  CompletableFuture<?> adjust(Adjustment adjustment) {
    standby.adjusted(adjustment);
    CompletableFuture<?> call = books.call(Script.RULES, words(adjustment));
    return orElse(
        call.thenApply(done -> true),
        failure -> {
          standby.keepAdjusted(adjustment);
          return CompletableFuture.completedFuture(true);
        });
  }

  /** As the script has them. */
  static String[] words(Adjustment adjustment) {
    Long most = adjustment.tokensAtMost();
    return new String[] {
      "adjust",
      Double.toString(adjustment.factor()),
      most == null ? "" : Long.toString(most),
      Long.toString(ModelTerms.micros(adjustment.pause()))
    };
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

  void beginShare(int nodes) {
    standby.begin(nodes);
  }

  CompletableFuture<?> settleUp() {
    return standby.settleUp();
  }

  List<Charge> comeBack(long pauseMicros) {
    return standby.comeBack(pauseMicros);
  }

  // ---- what every answer says

  private void heard(Answer answer) {
    try {
      tellListener(answer);
    } finally {
      // Whatever a listener does: those who wait are told.
      room.heard(answer);
    }
  }

  private synchronized void tellListener(Answer answer) {
    if (answer.refilled() > 0) {
      listener.refilled(model, answer.refilled(), answer.level(), answer.nanos());
    }
    for (Answer.Decided each : answer.news()) {
      if (each.granted()) {
        listener.granted(each.request(model), each.tokens(), each.waitedNanos(), answer.nanos());
      }
    }
  }

  // ---- asking

  CompletableFuture<Outcome> request(TokenRequest request) {
    return askAnyone("queue", request, true).thenApply(Optional::orElseThrow);
  }

  CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    return askAnyone("now", request, true);
  }

  CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    if (request.idempotencyKey() == null) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    Optional<Outcome> here = standby.find(request);
    return here.isPresent()
        ? CompletableFuture.completedFuture(here)
        : ask("find", newId(), request);
  }

  /** Redis, or who decides without it; if it has just come back, it is asked after all. */
  private CompletableFuture<Optional<Outcome>> askAnyone(
      String what, TokenRequest request, boolean first) {
    Optional<Outcome> before = standby.findFree(request);
    if (before.isPresent()) {
      return CompletableFuture.completedFuture(before);
    }
    String id = newId();
    return orElse(
        ask(what, id, request),
        failure -> {
          boolean notAsked = BudgetUnavailableException.isBeforeAsking(failure);
          if (!notAsked) {
            standby.unanswered(id, request);
          }
          Optional<Outcome> outcome = standby.ask(request, first && notAsked);
          return outcome.isPresent()
              ? CompletableFuture.completedFuture(outcome)
              : askAnyone(what, request, false);
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
    standby.answered(request);
    return switch (said.kind()) {
      case 'n' -> Optional.empty();
      case 'k' -> throw otherClasses(said, request);
      case 'x' -> throw StoreTerms.otherRequest(request, said.number(1), said.text(2));
      default -> {
        Outcome outcome = replies.outcome(request, said, terms);
        if (outcome instanceof Outcome.Granted granted) {
          standby.granted(granted, request.tenant(), request.idempotencyKey());
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
    return room.poll(id);
  }

  CompletableFuture<Optional<Outcome>> await(String id) {
    return room.await(id);
  }

  CompletableFuture<Boolean> cancel(String id) {
    return orElse(
        books
            .call(Script.TICKET, "cancel", id)
            .thenApply(
                answer -> {
                  standby.over(id);
                  return answer.result().number(0) == 1;
                }),
        failure -> standby.keepCancelled(id, room.cancelled(id)));
  }

  /** What has come meanwhile; by itself it looks in time. */
  void look() {
    room.look();
  }

  // ---- reservations

  CompletableFuture<Optional<Settlement>> settle(String id, long actual) {
    Optional<Settlement> here = standby.settle(id, actual);
    if (here.isPresent()) {
      return CompletableFuture.completedFuture(here);
    }
    return orElse(
        books
            .call(Script.SETTLE, "settle", id, Long.toString(actual))
            .thenApply(
                answer -> {
                  standby.over(id);
                  return Optional.ofNullable(settled(answer, actual));
                }),
        failure -> standby.keepSettled(id, actual));
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
    if (standby.extend(id)) {
      return CompletableFuture.completedFuture(true);
    }
    return orElse(
        books
            .call(Script.SETTLE, "extend", id)
            .thenApply(
                answer -> {
                  standby.livesOn(id);
                  return answer.result().size() > 0;
                }),
        failure -> standby.keepExtended(id, failure));
  }

  // ---- the end, and how it stands

  CompletableFuture<GovernorStatus.Model> status() {
    return orElse(
        books
            .call(Script.LOOK, "status")
            .thenApply(
                answer -> {
                  GovernorStatus.Model status = replies.status(answer.result(), books.terms());
                  standby.stands(status);
                  return status;
                }),
        failure -> CompletableFuture.completedFuture(standby.status()));
  }

  /** Who waits here is told that it is over; tickets stay in line, and are missed in time. */
  void close(Duration patience) {
    room.close(patience);
    standby.close();
  }
}
