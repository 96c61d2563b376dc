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
import org.jspecify.annotations.Nullable;

/** One call that waits for messages, without a thread of its own. */
final class Reception implements Consumer.Handler {
  private final ByteBudget.Part room;

  // Null once it is given: leases know their consumer, which would keep what they are of.
  private volatile @Nullable CompletableFuture<List<Delivery>> open;

  /** {@code room} is for the messages. */
  Reception(ByteBudget.Part room) {
    this.room = room;
  }

  CompletableFuture<List<Delivery>> start(
      Broker broker, String queue, int maxMessages, Duration wait, ScheduledExecutorService timer) {
    CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();
    open = answer;
    // By credit: a prefetch would be renewed by whoever settles before the consumer is gone.
    Consumer consumer = broker.consume(queue, 0, this);
    consumer.addCredit(maxMessages);
    Future<?> timeout =
        timer.schedule(() -> answer.complete(List.of()), wait.toNanos(), TimeUnit.NANOSECONDS);
    // Answered, out of time or cancelled: what was handed over stays leased, the rest goes back.
    Later.whenOver(
        answer,
        () -> {
          open = null;
          timeout.cancel(false);
          consumer.detach();
        });
    return answer;
  }

  @Override
  public long room(long waitingBytes) {
    CompletableFuture<List<Delivery>> answer = open;
    long bytes = Math.min(waitingBytes, QueueApi.MAX_ANSWER_BYTES);
    if (answer != null && !room.await(bytes, QueueApi.ROOM_PATIENCE_NANOS)) {
      answer.completeExceptionally(ByteBudget.exhausted("messages"));
    }
    return QueueApi.MAX_ANSWER_BYTES;
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    CompletableFuture<List<Delivery>> answer = open;
    if (answer == null || !answer.complete(deliveries)) {
      // A lease that has ended meanwhile is just as well.
      deliveries.forEach(each -> Later.whenOver(each.release(), () -> {}));
    }
  }
}
