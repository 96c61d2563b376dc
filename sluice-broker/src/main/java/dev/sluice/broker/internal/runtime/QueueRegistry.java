package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.BrokerMetrics.Hook;
import dev.sluice.broker.BrokerMetrics.HookOutcome;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.hooks.HookBudget;
import dev.sluice.broker.internal.hooks.HookCircuitBreaker;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.LuaHookEngine;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the compiled hooks and a snapshot of all queues for the threads of callers. Thread-safe.
 */
public final class QueueRegistry {
  private final BrokerMetrics metrics;

  /** Compiled scripts by source: a queue that is configured again is compiled once. */
  private final Map<String, HookEngine.EnqueueHook> enqueueHooks = new ConcurrentHashMap<>();

  private final Map<String, HookEngine.FailureHook> failureHooks = new ConcurrentHashMap<>();

  /** Sources that calls in progress need, with the number of these calls. */
  private final Map<String, Integer> pinned = new ConcurrentHashMap<>();

  // Replaced as a whole by the thread of the engine.
  private volatile Map<String, QueueRegistry.QueueHandle> handles = Map.of();

  /** The configuration as it is; changed by the thread of the engine. */
  private final Map<String, String> config = new ConcurrentHashMap<>();

  private final AtomicLong changes = new AtomicLong();
  private volatile Snapshot snapshot = new Snapshot(0, Map.of());

  /** A version of the config entries, so that they do not change while a script reads them. */
  private record Snapshot(long changes, Map<String, String> values) {}

  /** A queue as callers see it. */
  public record QueueHandle(
      int id,
      String name,
      QueueConfig config,
      String revision,
      HookEngine.@Nullable EnqueueHook onEnqueue,
      HookEngine.@Nullable FailureHook onFailure,
      HookCircuitBreaker breaker) {}

  /** Made when the first script is compiled, for that takes a moment. */
  private static final class Lua {
    static final HookEngine ENGINE = new LuaHookEngine(HookLimits.DEFAULT, System::nanoTime);
  }

  QueueRegistry(BrokerMetrics metrics) {
    this.metrics = metrics;
  }

  /**
   * Compiles what {@code queueConfig} has, on the thread of the caller, and keeps it: without the
   * pin a change of another queue could discard it, and the engine would compile it again.
   *
   * @return ends the pin
   * @throws BrokerException if a script does not compile
   */
  Runnable compile(QueueConfig queueConfig) {
    List<String> sources =
        Stream.of(queueConfig.onEnqueue(), queueConfig.onFailure())
            .filter(Objects::nonNull)
            .toList();
    sources.forEach(source -> pinned.merge(source, 1, Integer::sum));
    Runnable unpin = () -> sources.forEach(this::unpin);
    try {
      if (queueConfig.onEnqueue() != null) {
        compiled(enqueueHooks, queueConfig.onEnqueue(), Lua.ENGINE::compileEnqueue);
      }
      if (queueConfig.onFailure() != null) {
        compiled(failureHooks, queueConfig.onFailure(), Lua.ENGINE::compileFailure);
      }
      return unpin;
    } catch (RuntimeException | Error failed) {
      unpin.run();
      if (failed instanceof HookException bad) {
        throw new BrokerException(BrokerException.Code.INVALID_HOOK, bad.getMessage());
      }
      throw failed;
    }
  }

  private void unpin(String source) {
    pinned.computeIfPresent(source, (key, uses) -> uses == 1 ? null : Integer.valueOf(uses - 1));
  }

  /** Compiles outside of the map, whose lock would block the engine meanwhile. */
  private static <H> H compiled(Map<String, H> hooks, String source, Function<String, H> compiler) {
    H known = hooks.get(source);
    if (known != null) {
      return known;
    }
    H fresh = compiler.apply(source);
    H first = hooks.putIfAbsent(source, fresh);
    return first == null ? fresh : first;
  }

  /** Shows callers which queues there are now. */
  void publish(Collection<BrokerQueue> queues) {
    Map<String, QueueRegistry.QueueHandle> next = new HashMap<>();
    Set<String> sources = new HashSet<>();
    for (BrokerQueue brokerQueue : queues) {
      QueueRegistry.QueueHandle before = handles.get(brokerQueue.name);
      // A revision names the queue, too: a queue that is made again has another one.
      boolean same = before != null && before.revision.equals(brokerQueue.revision());
      next.put(brokerQueue.name, same ? before : handle(brokerQueue));
      sources.add(String.valueOf(brokerQueue.config.onEnqueue()));
      sources.add(String.valueOf(brokerQueue.config.onFailure()));
    }
    handles = next;
    forgetOthers(enqueueHooks, sources);
    forgetOthers(failureHooks, sources);
  }

  /** Removes unused scripts one by one, so that one that is pinned meanwhile stays. */
  private <H> void forgetOthers(Map<String, H> hooks, Set<String> sources) {
    for (String source : hooks.keySet()) {
      hooks.computeIfPresent(
          source, (key, hook) -> sources.contains(key) || pinned.containsKey(key) ? hook : null);
    }
  }

  void publish(String key, @Nullable String value) {
    if (value == null) {
      config.remove(key);
    } else {
      config.put(key, value);
    }
    changes.incrementAndGet();
  }

  private Map<String, String> snapshot() {
    Snapshot known = snapshot;
    long now = changes.get();
    if (known.changes != now) {
      known = new Snapshot(now, new HashMap<>(config));
      snapshot = known;
    }
    return known.values;
  }

  private QueueRegistry.QueueHandle handle(BrokerQueue brokerQueue) {
    String onEnqueue = brokerQueue.config.onEnqueue();
    String onFailure = brokerQueue.config.onFailure();
    return new QueueRegistry.QueueHandle(
        brokerQueue.id,
        brokerQueue.name,
        brokerQueue.config,
        brokerQueue.revision(),
        onEnqueue == null ? null : enqueueHook(onEnqueue),
        onFailure == null ? null : failureHook(onFailure),
        new HookCircuitBreaker());
  }

  /* A script that was accepted once must not keep a broker from opening: it fails, and no more. */
  private HookEngine.EnqueueHook enqueueHook(String source) {
    try {
      return compiled(enqueueHooks, source, Lua.ENGINE::compileEnqueue);
    } catch (HookException broken) {
      return (arrival, values, budget) -> {
        throw broken;
      };
    }
  }

  private HookEngine.FailureHook failureHook(String source) {
    try {
      return compiled(failureHooks, source, Lua.ENGINE::compileFailure);
    } catch (HookException broken) {
      return (failure, values) -> {
        throw broken;
      };
    }
  }

  /** How many are kept compiled. */
  public int compiled() {
    return enqueueHooks.size() + failureHooks.size();
  }

  public Map<String, QueueRegistry.QueueHandle> handles() {
    return handles;
  }

  public QueueRegistry.@Nullable QueueHandle find(String queue) {
    return handles.get(queue);
  }

  public QueueRegistry.QueueHandle handle(String queue) {
    QueueRegistry.QueueHandle view = handles.get(queue);
    if (view == null) {
      throw EngineState.queueNotFound(queue);
    }
    return view;
  }

  public Map<String, String> config() {
    return config;
  }

  /**
   * Returns the route of a message by {@code on_enqueue} of {@code handle}; null if it has no such
   * script. Charges the run to {@code budget}.
   */
  HookEngine.@Nullable EnqueueResult runEnqueueHook(
      QueueRegistry.QueueHandle view, HookEngine.EnqueueContext arrival, HookBudget budget) {
    HookEngine.EnqueueHook hook = view.onEnqueue;
    return hook == null
        ? null
        : run(
            view,
            Hook.ENQUEUE,
            () ->
                hook.run(arrival, snapshot(), budget)
                    .requireThrottleKeysIn(view.config.hookThrottleKeys()),
            HookEngine.EnqueueResult.DEFAULT);
  }

  /** Returns the result of {@code on_failure}; an immediate retry without such a hook. */
  HookEngine.FailureResult runFailureHook(
      QueueRegistry.QueueHandle view, HookEngine.FailureContext failure) {
    HookEngine.FailureHook hook = view.onFailure;
    return hook == null
        ? HookEngine.Retry.AT_ONCE
        : run(view, Hook.FAILURE, () -> hook.run(failure, snapshot()), HookEngine.Retry.AT_ONCE);
  }

  private <T> T run(QueueRegistry.QueueHandle view, Hook hook, Supplier<T> script, T otherwise) {
    long from = System.nanoTime();
    HookOutcome outcome = HookOutcome.BYPASSED;
    T result = otherwise;
    if (view.breaker.allows(from)) {
      try {
        result = script.get();
        outcome = HookOutcome.ANSWERED;
        view.breaker.succeeded();
      } catch (RuntimeException | Error failed) {
        // No failure of a hook or of the interpreter may lose the message.
        outcome = HookOutcome.FAILED;
        view.breaker.failed(System.nanoTime());
      }
    }
    metrics.hook(view.name, hook, outcome, System.nanoTime() - from);
    return result;
  }
}
