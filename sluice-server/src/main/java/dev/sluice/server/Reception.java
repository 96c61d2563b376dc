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
final class Reception {
  private final CompletableFuture<List<Delivery>> answer = new CompletableFuture<>();

  private Reception() {}

  static CompletableFuture<List<Delivery>> start(
      Broker broker, String queue, int maxMessages, Duration wait, ScheduledExecutorService timer) {
    Reception reception = new Reception();
    // By credit: a prefetch would be renewed by whoever settles before the consumer is gone.
    Consumer consumer = broker.consume(queue, 0, reception::take);
    consumer.addCredit(maxMessages);
    Future<?> timeout =
        timer.schedule(
            () -> reception.answer.complete(List.of()), wait.toNanos(), TimeUnit.NANOSECONDS);
    // Answered, out of time or cancelled: what was handed over stays leased, the rest goes back.
    Later.whenOver(
        reception.answer,
        () -> {
          timeout.cancel(false);
          consumer.detach();
        });
    return reception.answer;
  }

  private void take(List<Delivery> deliveries) {
    if (!answer.complete(deliveries)) {
      // A lease that has ended meanwhile is just as well.
      deliveries.forEach(each -> Later.whenOver(each.release(), () -> {}));
    }
  }
}
