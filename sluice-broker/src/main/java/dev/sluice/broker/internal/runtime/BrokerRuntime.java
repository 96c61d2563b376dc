package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.accounting.RecoveryHeapCheck;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.Recovery;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.util.Threads;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a broker over one open store, and the objects that they share.
 *
 * <pre>
 *   callers --inputs--> loop --batches--> writer --batches--> syncer
 *      |                 ^ ^                |                   |
 *      |                 | +---- inputs ----+-------------------+--results--> callers
 *      +--> hook threads-+
 * </pre>
 *
 * <p>Hooks run on the hook threads alone: they report results to the loop as inputs.
 */
public final class BrokerRuntime implements EngineState.EngineCallbacks, Committer.Listener {
  /** Queues, hooks and config entries may take one part in this many of the heap. */
  private static final int SETUP_SHARE = 8;

  public final EngineCalls engine;
  public final QueueRegistry registry;
  final MessageReader reader;
  final DeliveryReader deliveries;
  final EnqueuePipeline enqueuePipeline;
  final ConsumerRegistry consumers;
  final QueueConfigurator configurator;
  final HookCoordinator hooks;
  private final PendingCalls calls = new PendingCalls();
  private final CallbackExecutor callbacks = new CallbackExecutor();
  private final Store store;
  private final Inbox inbox;
  private final Committer committer;
  private final Consumer<Throwable> onFailure;
  private final Thread loopThread;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Null once the runtime is abandoned, so that the state of all messages can be collected. */
  private volatile @Nullable EngineLoop loop;

  private BrokerRuntime(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    this.store = store;
    this.onFailure = onFailure;
    this.reader = new MessageReader(store);
    this.inbox = new Inbox(config.maxInboundBytes());
    this.engine = new EngineCalls(inbox, calls, callbacks);
    this.registry = new QueueRegistry(config.metrics());
    this.deliveries = new DeliveryReader(reader, engine);
    this.consumers = new ConsumerRegistry(engine, deliveries, callbacks);
    this.configurator = new QueueConfigurator(registry, engine);
    Recovery.Start start = BrokerClock.start();
    long heap = Runtime.getRuntime().maxMemory();
    BrokerEngine machine = Recovery.recover(store, start, this, config.metrics(), heap);
    this.committer = new Committer(store, config, this);
    BrokerClock clock = BrokerClock.from(machine.state.now, start.bootNanos());
    EngineLoop fresh =
        new EngineLoop(machine, inbox, clock, store, config, committer::submit, this::failed);
    this.loop = fresh;
    this.loopThread = new Thread(fresh, "sluice-broker");
    machine.state.messageHeap.bound(heap / RecoveryHeapCheck.MESSAGES_SHARE);
    machine.state.configHeap.bound(heap / SETUP_SHARE);
    machine.state.config.forEach(registry::publish);
    registry.publish(machine.state.queues.values());
    // At the end, for it starts threads: on a full disk the recovery fails again and again.
    this.hooks = new HookCoordinator(config, registry, reader, engine);
    this.enqueuePipeline =
        new EnqueuePipeline(config, registry, hooks.executor, inbox, calls, callbacks::fail);
  }

  /**
   * Rebuilds the state from {@code store}, and closes the store if that fails.
   *
   * @param onFailure called once or more when the store fails; must {@link #end} the runtime
   */
  static BrokerRuntime recover(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    try {
      return new BrokerRuntime(store, config, onFailure);
    } catch (RuntimeException | Error failure) {
      store.close();
      throw failure;
    }
  }

  /** Starts the threads; calls are executed from now on. */
  void start() {
    committer.start();
    loopThread.start();
  }

  private EngineLoop loop() {
    return Objects.requireNonNull(loop);
  }

  // ---- callbacks of the engine

  @Override
  public void reject(CompletableFuture<?> future, BrokerException reason) {
    callbacks.fail(future, reason);
  }

  @Override
  public boolean hasFailureHook(BrokerQueue queue) {
    return queue.config.onFailure() != null;
  }

  @Override
  public void runFailureHook(EngineState.FailureHookRequest request) {
    hooks.runFailureHook(request);
  }

  @Override
  public boolean isReadable(MessageEntry entry) {
    return !reader.isUnreadable(entry);
  }

  @Override
  public void queuesChanged() {
    registry.publish(loop().queues());
  }

  @Override
  public void configChanged(String key, @Nullable String value) {
    registry.publish(key, value);
  }

  // ---- callbacks of the committer

  @Override
  public void written(CommitBatch batch) {
    reader.updateUnreadable(batch);
    // Before the results: a caller that has one and calls again must see its effect.
    engine.submit(machine -> loop().written(batch));
    callbacks.complete(batch.whenWritten.completions);
  }

  @Override
  public void synced(List<CommitBatch> batches) {
    engine.submit(machine -> loop().synced(batches));
    batches.forEach(batch -> callbacks.complete(batch.whenSynced.completions));
  }

  @Override
  public void failed(Throwable reason) {
    onFailure.accept(reason);
  }

  // ---- the end

  /** Fails every call from now on, with {@code reason} unless the runtime ended before. */
  void end(BrokerException reason) {
    failCalls(reason);
    inbox.close();
  }

  private void failCalls(BrokerException reason) {
    calls.refuseNew(reason);
    callbacks.executeAlways(calls::failOpen);
    consumers.end(reason);
  }

  void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    hooks.drain();
    engine.submit(machine -> machine.dispatcher.stop());
    finish();
    failCalls(new BrokerException(Code.STOPPED, "the broker is closed"));
    release();
  }

  /** Closes the store after {@link #end}, without waiting for hooks, and frees the memory. */
  void abandon() {
    if (closed.compareAndSet(false, true)) {
      finish();
      release();
    }
    consumers.clear();
    loop = null;
  }

  private void finish() {
    inbox.close();
    Threads.join(loopThread);
    committer.finish();
  }

  private void release() {
    hooks.stop();
    consumers.stop();
    callbacks.close();
    store.close();
  }
}
