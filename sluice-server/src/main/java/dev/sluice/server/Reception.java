package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** One call that receives messages, without a thread of its own. */
final class Reception {
  private final Broker broker;
  private final KeyInUse key;
  private final ByteBudget.Part room;

  /** {@code room} is for the messages. */
  Reception(Broker broker, KeyInUse key, ByteBudget.Part room) {
    this.broker = broker;
    this.key = key;
    this.room = room;
  }

  /** Ends, and delivers nothing, once the key is revoked, is changed or expires. */
  CompletableFuture<List<Delivery>> start(String queue, int maxMessages, Duration wait) {
    CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();
    KeyWatch watch = key.watch(answer::completeExceptionally);
    Later.whenOver(answer, watch::close);
    CompletableFuture<List<Delivery>> received =
        broker.receive(queue, maxMessages, wait, this::await);
    Later.when(
        received,
        deliveries -> {
          if (!watch.isValid() || !answer.complete(deliveries)) {
            giveBack(deliveries);
          }
        },
        answer::completeExceptionally);
    // Does nothing if the messages were received.
    Later.whenOver(answer, () -> received.cancel(false));
    return answer;
  }

  private long await(long bytes) {
    long most = Math.min(bytes, Math.min(room.share(), QueueApi.MAX_ANSWER_BYTES));
    if (!room.await(most, QueueApi.ROOM_PATIENCE_NANOS)) {
      throw ByteBudget.exhausted("messages");
    }
    return most;
  }

  /**
   * Gives messages back that were not sent to the client, with the tokens of their throttle keys.
   * Ignores messages whose lease has ended meanwhile.
   */
  static void giveBack(List<Delivery> unsent) {
    unsent.forEach(each -> Later.whenOver(each.release(), () -> {}));
  }
}
