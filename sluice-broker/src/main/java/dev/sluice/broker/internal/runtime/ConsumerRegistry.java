package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.PendingReceive;
import dev.sluice.broker.internal.engine.PrefetchBudget;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Opens consumers and receive calls, and ends the open ones with the broker. */
final class ConsumerRegistry {
  private final EngineCalls engine;
  private final DeliveryReader reader;
  private final CallbackExecutor callbacks;

  /** Has a thread for each handler that runs; one that waits for its receiver has none. */
  private final ThreadPoolExecutor handlers =
      (ThreadPoolExecutor) Executors.newCachedThreadPool(BrokerThreads.named("handler"));

  private final Set<PrefetchingConsumer> open = ConcurrentHashMap.newKeySet();
  private final PrefetchBudget prefetched = new PrefetchBudget();

  ConsumerRegistry(EngineCalls engine, DeliveryReader reader, CallbackExecutor callbacks) {
    this.engine = engine;
    this.reader = reader;
    this.callbacks = callbacks;
  }

  MessageConsumer consume(
      Broker broker, String queue, int prefetch, MessageConsumer.@Nullable Handler handler) {
    CompletableFuture<ConsumerState> call = engine.begin();
    PrefetchingConsumer consumer =
        new PrefetchingConsumer(broker, queue, handler, call, engine, this);
    Dispatcher.ConsumerRegistration registration =
        new Dispatcher.ConsumerRegistration(prefetch, prefetch > 0, consumer.target(), call);
    open.add(consumer);
    engine.submit(machine -> machine.dispatcher.open(queue, registration));
    try {
      PendingCalls.await(call);
    } catch (RuntimeException rejected) {
      open.remove(consumer);
      throw rejected;
    }
    return consumer;
  }

  CompletableFuture<List<Delivery>> receive(
      Broker broker,
      String queue,
      int maxMessages,
      Duration maxWait,
      LongUnaryOperator payloadBudget) {
    PendingReceive pending = new PendingReceive(engine.begin(), prefetched);
    CompletableFuture<List<Delivery>> messages =
        new ReceiveCall(broker, engine, this, pending, payloadBudget).start();
    engine.submit(
        machine ->
            machine.dispatcher.receives.open(queue, maxMessages, maxWait.toNanos(), pending));
    return messages;
  }

  DeliveryReader reader() {
    return reader;
  }

  /** Returns the threads that call handlers and read messages. */
  ThreadPoolExecutor handlers() {
    return handlers;
  }

  /**
   * Calls a handler on a thread of its own; returns why there is none, or null. Callers are threads
   * on which the broker depends: that the system refuses a thread must not stop them.
   */
  @Nullable Throwable tryRun(Runnable handling) {
    try {
      handlers.execute(handling);
      return null;
    } catch (OutOfMemoryError | RejectedExecutionException noThread) {
      return noThread;
    }
  }

  /** Tells a handler that its consumer has ended; without a thread of its own on a shared one. */
  void notifyEnded(Runnable ended) {
    if (tryRun(() -> CallbackExecutor.guarded(ended)) != null) {
      callbacks.executeAlways(ended);
    }
  }

  /** Returns the bytes that may wait in mailboxes. */
  PrefetchBudget prefetched() {
    return prefetched;
  }

  void remove(PrefetchingConsumer consumer) {
    open.remove(consumer);
  }

  /** Tells all open consumers that the broker has ended. */
  void end(BrokerException reason) {
    open.forEach(consumer -> consumer.end(reason));
  }

  void clear() {
    open.clear();
  }

  void stop() {
    handlers.shutdownNow();
  }
}
