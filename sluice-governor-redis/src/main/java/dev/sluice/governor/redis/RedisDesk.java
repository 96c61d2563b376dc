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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Where a model's tokens are asked for, in Redis. For any number of threads. */
final class RedisDesk {
  private static final int ID_BYTES = 16;
  private static final String NO_DEADLINE = "0";
  private static final String NO_RANK = "-1";

  private final SecureRandom random = new SecureRandom();
  private final String model;
  private final BudgetListener listener;
  private final Replies replies;
  private final ModelBooks books;
  private final WaitingRoom room;

  RedisDesk(
      String model, ModelTerms terms, Fleet fleet, GovernorTimer timer, BudgetListener listener) {
    this.model = model;
    this.listener = listener;
    this.replies = new Replies(model);
    this.books = new ModelBooks(fleet, model, terms, this::heard);
    this.room = new WaitingRoom(books, replies, timer, fleet.config().spreadNanos());
    fleet.link().subscribe(fleet.keys(model).channel(), room::heard);
  }

  boolean isQuiet() {
    return books.isQuiet();
  }

  // ---- rules

  /** Tells Redis the rules if it has not confirmed them. */
  CompletableFuture<?> confirm() {
    return books.isConfirmed() ? CompletableFuture.allOf() : books.configure();
  }

  /** Goes by these from now on; done when Redis does, too. */
  CompletableFuture<?> reload(ModelTerms terms) {
    books.use(terms);
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
    Long most = adjustment.tokensAtMost();
    return books.call(
        Script.RULES,
        "adjust",
        Double.toString(adjustment.factor()),
        most == null ? "" : Long.toString(most),
        Long.toString(ModelTerms.micros(adjustment.pause())));
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
    return ask("queue", request).thenApply(Optional::orElseThrow);
  }

  CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    return ask("now", request);
  }

  CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    return request.idempotencyKey() == null
        ? CompletableFuture.completedFuture(Optional.empty())
        : ask("find", request);
  }

  private CompletableFuture<Optional<Outcome>> ask(String what, TokenRequest request) {
    ModelTerms terms = books.terms();
    Integer rank = terms.ranks().get(request.priority());
    if (rank == null && !what.equals("find")) {
      throw unknownClass(terms, request);
    }
    Duration deadline = request.deadline();
    String key = request.idempotencyKey();
    return books
        .call(
            Script.ASK,
            newId(),
            what,
            request.tenant(),
            rank == null ? NO_RANK : Integer.toString(rank),
            rank == null ? "0" : Long.toString(StoreTerms.reserved(terms.budget(), request)),
            Long.toString(request.tokens()),
            request.priority(),
            deadline == null ? NO_DEADLINE : Long.toString(ModelTerms.micros(deadline)),
            key == null ? "" : key)
        .thenApply(answer -> asked(request, answer, terms));
  }

  private String newId() {
    byte[] bytes = new byte[ID_BYTES];
    random.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  private static IllegalArgumentException unknownClass(ModelTerms terms, TokenRequest request) {
    return StoreTerms.unknownClass(terms.ranks().keySet(), request.priority());
  }

  private Optional<Outcome> asked(TokenRequest request, Answer answer, ModelTerms terms) {
    Reply said = answer.result();
    return switch (said.kind()) {
      case 'n' -> Optional.empty();
      case 'k' -> throw unknownClass(terms, request);
      case 'x' -> throw StoreTerms.otherRequest(request, said.number(1), said.text(2));
      default -> {
        Outcome outcome = replies.outcome(request, said, terms);
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
    Integer rank = terms.ranks().get(request.priority());
    if (rank == null) {
      throw unknownClass(terms, request);
    }
    return books
        .call(
            Script.LOOK,
            "explain",
            request.tenant(),
            Integer.toString(rank),
            Long.toString(StoreTerms.reserved(terms.budget(), request)),
            request.priority())
        .thenApply(
            answer -> {
              if (answer.result().kind() == 'k') {
                throw unknownClass(terms, request);
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
    return books
        .call(Script.TICKET, "cancel", id)
        .thenApply(answer -> answer.result().number(0) == 1);
  }

  /** What has come meanwhile; by itself it looks in time. */
  void look() {
    room.look();
  }

  // ---- reservations

  CompletableFuture<Optional<Settlement>> settle(String id, long actual) {
    return books
        .call(Script.SETTLE, "settle", id, Long.toString(actual))
        .thenApply(answer -> Optional.ofNullable(settled(answer, actual)));
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
    return books.call(Script.SETTLE, "extend", id).thenApply(answer -> answer.result().size() > 0);
  }

  // ---- the end, and how it stands

  CompletableFuture<GovernorStatus.Model> status() {
    return books
        .call(Script.LOOK, "status")
        .thenApply(answer -> replies.status(answer.result(), books.terms()));
  }

  /** Who waits here is told that it is over; tickets stay in line, and are missed in time. */
  void close(Duration patience) {
    room.close(patience);
  }
}
