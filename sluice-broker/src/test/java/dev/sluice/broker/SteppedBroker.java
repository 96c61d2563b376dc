package dev.sluice.broker;

import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.hooks.HookEngine;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** Runs the state machine of a broker, with calls for any queue. */
final class SteppedBroker extends EngineFixture {
  @Override
  void kill() {
    super.kill();
    delivered.clear();
  }

  void create(String queue, QueueConfig config) {
    engine.queueAdmin.create(queue, config, true, new CompletableFuture<>());
    step();
  }

  void delete(String queue) {
    engine.queueAdmin.delete(queue, null, new CompletableFuture<>());
    step();
  }

  BrokerQueue line(String queue) {
    return engine.state.queue(queue);
  }

  /** Enqueues messages of one byte each. */
  List<UUID> enqueue(String queue, int messages) {
    CompletableFuture<List<UUID>> stored = new CompletableFuture<>();
    engine.enqueueHandler.enqueue(queue, submissions(messages, 0), stored);
    step();
    return stored.join();
  }

  ConsumerState consume(String queue, int credit) {
    ConsumerState.DeliveryTarget outlet =
        new Receiver() {
          @Override
          public void deliver(List<PendingDelivery> batch) {
            batch.forEach(handover -> handover.lease().claim());
            super.deliver(batch);
          }
        };
    CompletableFuture<ConsumerState> opened = new CompletableFuture<>();
    engine.dispatcher.open(
        queue, new Dispatcher.ConsumerRegistration(credit, true, outlet, opened));
    step();
    return opened.join();
  }

  void close(ConsumerState subscriber) {
    engine.dispatcher.close(subscriber, null);
    step();
  }

  /** Returns the deliveries since the last call. */
  List<PendingDelivery> taken() {
    List<PendingDelivery> all = List.copyOf(delivered);
    delivered.clear();
    return all;
  }

  private static Dispatcher.LeaseRef claim(PendingDelivery handover) {
    return new Dispatcher.LeaseRef(handover.entry().id(), handover.token());
  }

  void ack(PendingDelivery handover) {
    engine.dispatcher.ackAll(
        handover.entry().queue.name, List.of(claim(handover)), new CompletableFuture<>());
    step();
  }

  void nack(PendingDelivery handover, FailureHandler.Nack nack) {
    engine.failureHandler.nack(
        handover.entry().queue.name, claim(handover), nack, new CompletableFuture<>());
    step();
  }

  void release(PendingDelivery handover) {
    engine.dispatcher.release(
        handover.entry().queue.name, claim(handover), new CompletableFuture<>());
    step();
  }

  /** Moves the clock to the next timer and runs what is due; returns false if there is no timer. */
  boolean toNextTimer() {
    long due = engine.state.timers.firstDue();
    if (due == Long.MAX_VALUE) {
      return false;
    }
    now = Math.max(now, due);
    step();
    return true;
  }

  /** Runs what is due, and stores it, until nothing more happens at this instant. */
  @Override
  void step() {
    do {
      super.step();
      engine.tick();
    } while (!engine.state.batch.isEmpty());
  }

  /** Answers for every script: retry without a delay. */
  @Override
  public void runFailureHook(EngineState.FailureHookRequest question) {
    engine.failureHandler.applyHookResult(question, HookEngine.Retry.AT_ONCE);
  }

  @Override
  public boolean hasFailureHook(BrokerQueue line) {
    return line.config.onFailure() != null;
  }
}
