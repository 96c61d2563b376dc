package dev.sluice.server.operations;

import dev.sluice.broker.Broker;
import dev.sluice.broker.LeaseToken;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.RequestSizeLimits;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/*
 * The broker takes inputs in the order in which they come, and answers on one thread. A call with
 * thousands of settlements would hold up all other callers, so the broker gets the next piece of it
 * when it has answered the one before. An account that sends many calls at once holds up only
 * itself: its pieces take turns. Small pieces have turns of their own, so that they do not wait for
 * large ones. A call that holds no memory takes no turn: nothing would bound how many wait.
 *
 * A call that may wait ends when its key does, or when it is canceled; then no further piece of it
 * is executed. Its last piece ends that: what is executed as a whole is answered.
 *
 * The memory of the settlements is given back when the broker has none of them, even if the call
 * was canceled before: otherwise calls that are canceled at once would pile up uncounted.
 */

/** Settles the messages of one call, a piece at a time. */
public final class SettleCall {
  /** How many settlements of one call the broker has at a time. */
  public static final int AT_ONCE = 500;

  /** Calls with at most so many settlements hold no memory and do not wait. */
  public static final int FREE = RequestSizeLimits.FREE_BYTES / RequestSizeLimits.SETTLEMENT_BYTES;

  /** Pieces of at most so many settlements are small. */
  public static final int SMALL = 50;

  /** How many large pieces of one account the broker has at a time. */
  private static final int PIECES_OF_ACCOUNT = 4;

  /** The turns of the pieces of each account. */
  public record Turns(AccountTurns large, AccountTurns small) {
    /** Lets the broker have as many settlements of one account in small pieces as in large ones. */
    public static Turns create() {
      return new Turns(
          new AccountTurns(PIECES_OF_ACCOUNT),
          new AccountTurns(PIECES_OF_ACCOUNT * AT_ONCE / SMALL));
    }
  }

  private final Broker broker;
  private final String queue;
  private final List<Settlement> all;
  private final ConcurrencyQuota.Hold memory;
  private final Object owner;
  private final Turns turns;
  private final CompletableFuture<List<Optional<ApiException>>> answer = new CompletableFuture<>();
  private final WatchedCall watch;

  /** Changed by one thread at a time: the caller's, then those that answer. */
  private final List<Optional<ApiException>> outcomes;

  /** {@code memory} is closed when the work is over. */
  public SettleCall(
      Broker broker,
      String queue,
      List<Settlement> all,
      ConcurrencyQuota.Hold memory,
      Credential key,
      Turns turns) {
    this.broker = broker;
    this.queue = queue;
    this.all = all;
    this.memory = memory;
    this.owner = key.owner();
    this.watch = key.unstarted(answer::completeExceptionally);
    this.turns = turns;
    this.outcomes = new ArrayList<>(all.size());
  }

  /**
   * Returns a place for each settlement: empty if it is done. If the future is canceled, pieces
   * that the broker does not have yet are not executed. The same holds if the key is revoked, is
   * changed or expires: then the future fails.
   */
  public CompletableFuture<List<Optional<ApiException>>> start() {
    if (all.size() > FREE) {
      watch.start();
      Futures.whenOver(answer, watch::close);
    }
    settleNext();
    return answer;
  }

  private void settleNext() {
    int from = outcomes.size();
    if (from == all.size() || answer.isDone()) {
      memory.close();
      answer.complete(outcomes);
      return;
    }
    List<Settlement> piece = all.subList(from, Math.min(from + AT_ONCE, all.size()));
    Futures.when(
        inTurn(piece),
        done -> {
          if (done.isEmpty()) {
            memory.close();
            return;
          }
          outcomes.addAll(done);
          settleNext();
        },
        failure -> {
          memory.close();
          answer.completeExceptionally(failure);
        });
  }

  private CompletableFuture<List<Optional<ApiException>>> inTurn(List<Settlement> piece) {
    if (all.size() <= FREE) {
      return settleUnlessOver(piece);
    }
    AccountTurns mine = piece.size() <= SMALL ? turns.small : turns.large;
    return mine.run(owner, () -> settleUnlessOver(piece));
  }

  /**
   * Returns no outcomes if the call is over: then the answer has been decided, or is by the watch,
   * which has the reason.
   */
  private CompletableFuture<List<Optional<ApiException>>> settleUnlessOver(List<Settlement> piece) {
    boolean isLast = outcomes.size() + piece.size() == all.size();
    return answer.isDone() || (isLast && !watch.finish())
        ? CompletableFuture.completedFuture(List.of())
        : settle(piece);
  }

  private CompletableFuture<List<Optional<ApiException>>> settle(List<Settlement> piece) {
    try {
      Map<UUID, LeaseToken> acks = new LinkedHashMap<>();
      for (Settlement each : piece) {
        LeaseToken lease = each.lease();
        if (each.action() instanceof Action.Ack && lease != null) {
          acks.putIfAbsent(each.id(), lease);
        }
      }
      if (acks.size() == piece.size()) {
        // Nearly always: one call for all.
        return broker.ackAll(queue, acks).thenApply(refused -> outcomes(piece, refused));
      }
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
    List<CompletableFuture<Optional<ApiException>>> calls = new ArrayList<>(piece.size());
    piece.forEach(each -> calls.add(settle(each)));
    return CompletableFuture.allOf(calls.toArray(new CompletableFuture<?>[0]))
        .thenApply(done -> calls.stream().map(CompletableFuture::join).toList());
  }

  private List<Optional<ApiException>> outcomes(List<Settlement> piece, List<UUID> refusals) {
    // No Set.copyOf: clients choose these ids, and it takes quadratic time if hashes collide.
    Set<UUID> refused = new HashSet<>(refusals);
    List<Optional<ApiException>> found = new ArrayList<>(piece.size());
    for (Settlement each : piece) {
      found.add(
          refused.contains(each.id())
              ? Optional.of(
                  ApiException.notFound(
                      "the message is not leased, or by another token: queue=%s, id=%s"
                          .formatted(queue, each.id())))
              : Optional.empty());
    }
    return found;
  }

  private CompletableFuture<Optional<ApiException>> settle(Settlement settlement) {
    CompletableFuture<Void> call;
    try {
      call = begin(settlement);
    } catch (RuntimeException refused) {
      call = CompletableFuture.failedFuture(refused);
    }
    return call.handle(
        (done, failure) ->
            failure == null ? Optional.empty() : Optional.of(ApiException.of(failure)));
  }

  private CompletableFuture<Void> begin(Settlement settlement) {
    UUID id = settlement.id();
    LeaseToken lease = settlement.lease();
    if (settlement.action() instanceof Action.Nack nack) {
      return broker.nack(queue, id, lease, nack.error(), nack.delay());
    }
    if (settlement.action() instanceof Action.Extend extend) {
      return broker.extend(queue, id, lease, extend.time());
    }
    return settlement.action() instanceof Action.Release
        ? broker.release(queue, id, lease)
        : broker.ack(queue, id, lease);
  }
}
