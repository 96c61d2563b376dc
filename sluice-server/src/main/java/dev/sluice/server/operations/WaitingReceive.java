package dev.sluice.server.operations;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.ResponseMemoryBudget;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Receives messages for one call, without a thread of its own. */
public final class WaitingReceive {
  private final Broker broker;
  private final Credential key;
  private final ResponseMemoryBudget.Reservation room;

  /** {@code room} is for the messages. */
  WaitingReceive(Broker broker, Credential key, ResponseMemoryBudget.Reservation room) {
    this.broker = broker;
    this.key = key;
    this.room = room;
  }

  /** Ends, and delivers nothing, once the key is revoked, is changed or expires. */
  CompletableFuture<List<Delivery>> start(String queue, int maxMessages, Duration wait) {
    CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();
    WatchedCall watch = key.watch(answer::completeExceptionally);
    Futures.whenOver(answer, watch::close);
    CompletableFuture<List<Delivery>> received =
        broker.receive(queue, maxMessages, wait, this::await);
    Futures.when(
        received,
        deliveries -> {
          if (!watch.isValid() || !answer.complete(deliveries)) {
            giveBack(deliveries);
          }
        },
        answer::completeExceptionally);
    // Does nothing if the messages were received.
    Futures.whenOver(answer, () -> received.cancel(false));
    return answer;
  }

  private long await(long bytes) {
    long most = Math.min(bytes, Math.min(room.share(), QueueOperations.MAX_ANSWER_BYTES));
    if (!room.await(most, QueueOperations.ROOM_PATIENCE_NANOS)) {
      throw ResponseMemoryBudget.exhausted("messages");
    }
    return most;
  }

  /**
   * Gives messages back that were not sent to the client, with the tokens of their throttle keys.
   * Ignores messages whose lease has ended meanwhile.
   */
  public static void giveBack(List<Delivery> unsent) {
    unsent.forEach(each -> Futures.whenOver(each.release(), () -> {}));
  }
}
