package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.PendingReceive;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongUnaryOperator;

/**
 * The caller's side of a {@link PendingReceive}: reads the messages, and releases those that exceed
 * the payload budget.
 */
final class ReceiveCall {
  private final Broker broker;
  private final EngineCalls engine;
  private final ConsumerRegistry registry;
  private final PendingReceive receive;
  private final LongUnaryOperator payloadBudget;
  private final CompletableFuture<List<Delivery>> result = new CompletableFuture<>();

  ReceiveCall(
      Broker broker,
      EngineCalls engine,
      ConsumerRegistry registry,
      PendingReceive receive,
      LongUnaryOperator payloadBudget) {
    this.broker = broker;
    this.engine = engine;
    this.registry = registry;
    this.receive = receive;
    this.payloadBudget = payloadBudget;
  }

  /** Returns a future of the messages; if it is canceled or fails, they are released. */
  @SuppressWarnings("FutureReturnValueIgnored") // failures reach the result
  CompletableFuture<List<Delivery>> start() {
    result.whenComplete(
        (messages, failure) -> {
          if (failure != null) {
            // Ends a call that was canceled before it was answered.
            receive.future.cancel(false);
            receive.take();
            releaseUnsent();
          }
        });
    receive.future.whenComplete(
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
    List<PendingDelivery> all = receive.take();
    if (all.isEmpty()) {
      result.complete(List.of());
    } else {
      registry.handlers().execute(() -> attempt(() -> read(all)));
    }
  }

  private void attempt(Runnable step) {
    try {
      step.run();
    } catch (RejectedExecutionException ended) {
      result.completeExceptionally(engine.reasonOr(ended));
    } catch (RuntimeException | Error failure) {
      result.completeExceptionally(failure);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a release fails only if the lease has ended
  private void read(List<PendingDelivery> all) {
    long bytes = all.stream().mapToLong(each -> each.entry().bytes).sum();
    List<PendingDelivery> first = thatFit(all, payloadBudget.applyAsLong(bytes));
    List<Delivery> messages = new ArrayList<>(registry.reader().read(broker, first));
    messages.removeIf(each -> !each.markForwarded());
    if (first.size() < all.size()) {
      releaseUnsent();
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

  private void releaseUnsent() {
    engine.submit(machine -> machine.dispatcher.receives.cancel(receive));
  }
}
