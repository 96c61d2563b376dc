package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Consumer;
import dev.sluice.broker.Delivery;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** One call that waits for messages, without a thread of its own. */
final class Reception implements Consumer.Handler {
  private final ByteBudget.Part room;
  private final CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();

  /** {@code room} is for the messages. */
  Reception(ByteBudget.Part room) {
    this.room = room;
  }

  CompletableFuture<List<Delivery>> start(
      Broker broker, String queue, int maxMessages, Duration wait, ScheduledExecutorService timer) {
    // By credit: a prefetch would be renewed by whoever settles before the consumer is gone.
    Consumer consumer = broker.consume(queue, 0, this);
    consumer.addCredit(maxMessages);
    Future<?> timeout =
        timer.schedule(() -> answer.complete(List.of()), wait.toNanos(), TimeUnit.NANOSECONDS);
    // Answered, out of time or cancelled: what was handed over stays leased, the rest goes back.
    Later.whenOver(
        answer,
        () -> {
          timeout.cancel(false);
          consumer.detach();
        });
    return answer;
  }

  @Override
  public long room(long waitingBytes) {
    long bytes = Math.min(waitingBytes, QueueApi.MAX_ANSWER_BYTES);
    if (!answer.isDone() && !room.await(bytes, QueueApi.ROOM_PATIENCE_NANOS)) {
      answer.completeExceptionally(ByteBudget.exhausted("messages"));
    }
    return QueueApi.MAX_ANSWER_BYTES;
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    if (!answer.complete(deliveries)) {
      // A lease that has ended meanwhile is just as well.
      deliveries.forEach(each -> Later.whenOver(each.release(), () -> {}));
    }
  }
}
