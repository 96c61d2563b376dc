package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.engine.QueueAdmin;
import dev.sluice.broker.internal.util.Checks;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Creates and changes queues, and changes config entries. */
final class QueueConfigurator {
  private final QueueRegistry registry;
  private final EngineCalls engine;

  QueueConfigurator(QueueRegistry registry, EngineCalls engine) {
    this.registry = registry;
    this.engine = engine;
  }

  void create(String queue, QueueConfig config, boolean adoptDeadLetterQueue) {
    PendingCalls.await(
        this.<Void>apply(
            config,
            (machine, call) ->
                machine.queueAdmin.create(queue, config, adoptDeadLetterQueue, call)));
  }

  /**
   * Changes the configuration of a queue as one step, and blocks until it is stored; tries again if
   * another change comes first.
   *
   * @param revision the revision that the queue must have; null for any
   * @return the new revision
   */
  String update(String queue, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    while (true) {
      try {
        return PendingCalls.await(updateOnce(queue, change, revision));
      } catch (BrokerException rejection) {
        if (revision != null || rejection.code() != Code.REVISION_MISMATCH) {
          throw rejection;
        }
      }
    }
  }

  /** As {@link #update}, without blocking; fails if another change comes first. */
  CompletableFuture<String> updateOnce(
      String queue, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    engine.requireOpen();
    QueueRegistry.QueueHandle handle = registry.handle(queue);
    String changed = handle.revision();
    // The change applies to this revision, even if the caller names a later one.
    QueueAdmin.requireRevision(queue, changed, revision == null ? changed : revision);
    QueueConfig config = change.apply(handle.config());
    return apply(
        config, (machine, call) -> machine.queueAdmin.update(queue, config, changed, call));
  }

  /** Compiles the hooks of {@code config}, then creates or changes a queue. */
  private <T> CompletableFuture<T> apply(
      QueueConfig config, BiConsumer<BrokerEngine, CompletableFuture<T>> change) {
    Runnable unpin = registry.compile(config);
    return engine
        .<T>call(change)
        .whenComplete(
            (result, failure) -> {
              unpin.run();
              if (failure != null) {
                discardUnusedHooks();
              }
            });
  }

  /** Discards hooks that were compiled for a rejected change. */
  private void discardUnusedHooks() {
    engine.submit(machine -> registry.publish(machine.state.queues.values()));
  }

  /** Sets a config entry, or removes it if {@code value} is null. */
  void changeConfig(String key, @Nullable String value) {
    PendingCalls.await(
        engine.<Void>call((machine, call) -> machine.queueAdmin.setConfig(key, value, call)));
  }

  static void requireConfigKey(String key) {
    String throttleKey = LimitConfigEntry.throttleKey(key);
    Checks.requireKey(
        throttleKey == null ? "key" : "throttle key", throttleKey == null ? key : throttleKey);
  }
}
