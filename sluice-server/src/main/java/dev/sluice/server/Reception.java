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
  private volatile @Nullable Open open;

  /** A call that is not answered, and its key. */
  private record Open(CompletableFuture<List<Delivery>> answer, KeyWatch key) {
    /** False if the call is over, or its key does not allow it any more. */
    boolean deliver(List<Delivery> deliveries) {
      return key.isValid() && answer.complete(deliveries);
    }
  }

  /** {@code room} is for the messages. */
  Reception(ByteBudget.Part room) {
    this.room = room;
  }

  /** Ends, and delivers nothing, once {@code key} is revoked, is changed or expires. */
  CompletableFuture<List<Delivery>> start(
      Broker broker,
      KeyInUse key,
      String queue,
      int maxMessages,
      Duration wait,
      ScheduledExecutorService timer) {
    CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();
    KeyWatch watch = key.watch(answer::completeExceptionally);
    Later.whenOver(answer, watch::close);
    open = new Open(answer, watch);
    Consumer consumer;
    try {
      // By credit: a prefetch would be renewed by whoever settles before the consumer is gone.
      consumer = broker.consume(queue, 0, this);
    } catch (RuntimeException refused) {
      answer.completeExceptionally(refused);
      throw refused;
    }
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
    Open waiting = open;
    long bytes = Math.min(waitingBytes, QueueApi.MAX_ANSWER_BYTES);
    if (waiting != null && !room.await(bytes, QueueApi.ROOM_PATIENCE_NANOS)) {
      waiting.answer().completeExceptionally(ByteBudget.exhausted("messages"));
    }
    return QueueApi.MAX_ANSWER_BYTES;
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    Open waiting = open;
    if (waiting == null || !waiting.deliver(deliveries)) {
      // A lease that has ended meanwhile is just as well.
      deliveries.forEach(each -> Later.whenOver(each.release(), () -> {}));
    }
  }
}
