package dev.sluice.broker.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.engine.PendingDelivery;
import dev.sluice.broker.engine.PendingReceive;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongUnaryOperator;

/**
 * A caller's side of a {@link PendingReceive}: reads the messages, and gives back those that do not
 * fit.
 */
final class ReceiveCall {
  private final Broker broker;
  private final BrokerRuntime machinery;
  private final ExecutorService readers;
  private final PendingReceive poll;
  private final LongUnaryOperator room;
  private final CompletableFuture<List<Delivery>> result = new CompletableFuture<>();

  ReceiveCall(
      Broker broker,
      BrokerRuntime machinery,
      ExecutorService readers,
      PendingReceive poll,
      LongUnaryOperator room) {
    this.broker = broker;
    this.machinery = machinery;
    this.readers = readers;
    this.poll = poll;
    this.room = room;
  }

  /** Returns a future of the messages; if it is cancelled or fails, they go back. */
  @SuppressWarnings("FutureReturnValueIgnored") // failures reach the result
  CompletableFuture<List<Delivery>> start() {
    result.whenComplete(
        (messages, failure) -> {
          if (failure != null) {
            // Nothing else ends a call that was cancelled before it was answered.
            poll.future.cancel(false);
            poll.take();
            giveBackUnsent();
          }
        });
    poll.future.whenComplete(
        (answered, failure) -> {
          if (failure == null) {
            attempt(this::answered);
          } else {
            result.completeExceptionally(failure);
          }
        });
    return result;
  }

  private void answered() {
    List<PendingDelivery> all = poll.take();
    if (all.isEmpty()) {
      result.complete(List.of());
    } else {
      readers.execute(() -> attempt(() -> read(all)));
    }
  }

  private void attempt(Runnable step) {
    try {
      step.run();
    } catch (RejectedExecutionException ended) {
      result.completeExceptionally(machinery.calls.end(ended));
    } catch (RuntimeException | Error failure) {
      result.completeExceptionally(failure);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a release fails only if the lease has ended
  private void read(List<PendingDelivery> all) {
    long bytes = all.stream().mapToLong(each -> each.entry().bytes).sum();
    List<PendingDelivery> first = thatFit(all, room.applyAsLong(bytes));
    List<Delivery> messages = new ArrayList<>(machinery.read(broker, first));
    messages.removeIf(each -> !each.markForwarded());
    if (first.size() < all.size()) {
      giveBackUnsent();
    }
    if (!result.complete(messages)) {
      messages.forEach(Delivery::release);
    }
  }

  private static List<PendingDelivery> thatFit(List<PendingDelivery> all, long bytes) {
    long left = bytes;
    int fitting = 0;
    while (fitting < all.size() && (fitting == 0 || all.get(fitting).entry().bytes <= left)) {
      left -= all.get(fitting++).entry().bytes;
    }
    return all.subList(0, fitting);
  }

  private void giveBackUnsent() {
    machinery.input(engine -> engine.dispatch.polls.cancel(poll));
  }
}
