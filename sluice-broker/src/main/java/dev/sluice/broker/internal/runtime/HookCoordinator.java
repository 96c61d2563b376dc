package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.hooks.HookBudget;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookExecutor;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.time.Duration;

/**
 * Runs the hooks of stored messages on the hook threads: {@code on_failure}, and {@code on_enqueue}
 * of dead letters that are redriven. Reports results to the engine as inputs.
 */
final class HookCoordinator {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());

  /** How long closing waits for the hooks of open calls. */
  private static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(5);

  final HookExecutor executor;
  private final QueueRegistry registry;
  private final MessageReader reader;
  private final EngineCalls engine;

  HookCoordinator(
      BrokerConfig config, QueueRegistry registry, MessageReader reader, EngineCalls engine) {
    this.executor =
        new HookExecutor(threads(config), config.maxInboundBytes(), BrokerThreads.named("hooks"));
    this.registry = registry;
    this.reader = reader;
    this.engine = engine;
  }

  private static int threads(BrokerConfig config) {
    return config.hookThreads() > 0
        ? config.hookThreads()
        : Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
  }

  /** Runs {@code on_failure} for {@code request}, and passes the result to the engine. */
  void runFailureHook(EngineState.FailureHookRequest request) {
    executor.run(
        HookExecutor.Work.FAILURE,
        request.entry().queue.name,
        1,
        () -> {
          HookEngine.FailureResult result = failureResult(request);
          engine.submit(machine -> machine.failureHandler.applyHookResult(request, result));
        });
  }

  private HookEngine.FailureResult failureResult(EngineState.FailureHookRequest request) {
    try {
      MessageEntry entry = request.entry();
      QueueRegistry.QueueHandle queue = registry.find(entry.queue.name);
      MessageEnvelope envelope = reader.read(entry);
      if (queue != null && envelope != null) {
        return registry.runFailureHook(
            queue,
            new HookEngine.FailureContext(
                queue.name(),
                entry.id(),
                envelope.headers(),
                request.attempts(),
                request.nack().error()));
      }
    } catch (RuntimeException | Error unreadable) {
      LOG.log(System.Logger.Level.WARNING, "on_failure could not be run", unreadable);
    }
    return HookEngine.Retry.AT_ONCE;
  }

  /**
   * Returns the placement that {@code on_enqueue} of the source queue assigns to a dead letter; its
   * old one without a hook.
   */
  InternedPlacement.Spec redrivePlacement(MessageEntry entry, HookBudget budget) {
    try {
      QueueRegistry.QueueHandle queue = registry.find(QueueNames.sourceOf(entry.queue.name));
      MessageEnvelope envelope = reader.read(entry);
      if (queue != null && envelope != null) {
        HookEngine.EnqueueContext context =
            new HookEngine.EnqueueContext(
                queue.name(), envelope.headers(), envelope.payload().length);
        HookEngine.EnqueueResult assigned = registry.runEnqueueHook(queue, context, budget);
        if (assigned != null) {
          return EnqueuePipeline.placement(assigned, entry.placement.spec.priority());
        }
      }
    } catch (RuntimeException | Error unreadable) {
      LOG.log(System.Logger.Level.WARNING, "on_enqueue could not be run", unreadable);
    }
    return entry.placement.spec;
  }

  /** Waits for the hooks of open calls, for a bounded time. */
  void drain() {
    executor.drain(DRAIN_TIMEOUT);
  }

  void stop() {
    executor.stop();
  }
}
