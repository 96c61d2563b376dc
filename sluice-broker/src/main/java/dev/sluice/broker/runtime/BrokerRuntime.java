package dev.sluice.broker.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.engine.BrokerEngine;
import dev.sluice.broker.engine.BrokerQueue;
import dev.sluice.broker.engine.CommitBatch;
import dev.sluice.broker.engine.Completion;
import dev.sluice.broker.engine.ConsumerState;
import dev.sluice.broker.engine.Dispatcher;
import dev.sluice.broker.engine.EngineState;
import dev.sluice.broker.engine.InternedPlacement;
import dev.sluice.broker.engine.LimitConfigEntry;
import dev.sluice.broker.engine.MessageEntry;
import dev.sluice.broker.engine.PendingDelivery;
import dev.sluice.broker.engine.PendingReceive;
import dev.sluice.broker.engine.PrefetchBudget;
import dev.sluice.broker.engine.Recovery;
import dev.sluice.broker.hooks.HookBudget;
import dev.sluice.broker.hooks.HookEngine;
import dev.sluice.broker.hooks.HookExecutor;
import dev.sluice.broker.store.Checks;
import dev.sluice.broker.store.MessageEnvelope;
import dev.sluice.broker.store.Store;
import dev.sluice.broker.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a broker, and what goes between them.
 *
 * <pre>
 *   callers --inputs--> loop --batches--> writer --batches--> syncer
 *      |                 ^ ^                |                   |
 *      |                 | +---- inputs ----+-------------------+---answers--> callers
 *      +--> hook threads-+
 * </pre>
 *
 * <p>Scripts run on the hook threads alone: the answer to a question of the loop is an input.
 */
public final class BrokerRuntime implements EngineState.EngineCallbacks, Committer.Listener {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());

  /** Messages and remembered ids may take one part in this many of the heap. */
  public static final int MESSAGES_SHARE = 2;

  /** Queues, scripts and configuration may take one part in this many of the heap. */
  private static final int SETUP_SHARE = 8;

  /** How long closing waits for callbacks that are under way. */
  private static final long ANSWERS_SECONDS = 10;

  /** How long closing waits for scripts of calls that are under way. */
  private static final Duration HOOKS_PATIENCE = Duration.ofSeconds(5);

  public final QueueRegistry scripts;
  public final PendingCalls calls = new PendingCalls();
  public final MessageReader reader;
  final HookExecutor hooks;
  public final EnqueuePipeline enqueuer;
  private final Store store;
  private final Inbox inbox;
  private final Committer committer;
  private final Consumer<Throwable> onFailure;
  private final Thread loopThread;

  /** Null once it is abandoned, so that the state of all messages can be collected. */
  private volatile @Nullable EngineLoop loop;

  private final ExecutorService answers =
      Executors.newSingleThreadExecutor(PendingCalls.CallbackThread::new);
  private final ExecutorService handlers = Executors.newCachedThreadPool(named("handler"));
  private final Set<MessageConsumer> consumers = ConcurrentHashMap.newKeySet();
  private final PrefetchBudget waiting = new PrefetchBudget();
  private final AtomicBoolean closed = new AtomicBoolean();

  private BrokerRuntime(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    this.store = store;
    this.onFailure = onFailure;
    this.reader = new MessageReader(store);
    this.inbox = new Inbox(config.maxInboundBytes());
    this.scripts = new QueueRegistry(config.metrics());
    this.hooks = new HookExecutor(hookThreads(config), config.maxInboundBytes(), named("hooks"));
    this.enqueuer = new EnqueuePipeline(config, scripts, hooks, inbox, calls, this::fail);
    Recovery.Start start = BrokerClock.start();
    long heap = Runtime.getRuntime().maxMemory();
    BrokerEngine engine = Recovery.recover(store, start, this, config.metrics(), heap);
    this.committer = new Committer(store, config, this);
    BrokerClock clock = BrokerClock.from(engine.state.now, start.bootNanos());
    EngineLoop fresh =
        new EngineLoop(engine, inbox, clock, store, config, committer::submit, this::failed);
    this.loop = fresh;
    this.loopThread = new Thread(fresh, "sluice-broker");
    engine.state.messageRoom.bound(heap / MESSAGES_SHARE);
    engine.state.setupRoom.bound(heap / SETUP_SHARE);
    engine.state.config.forEach(scripts::publish);
    scripts.publish(engine.state.lines.values());
  }

  private static int hookThreads(BrokerConfig config) {
    return config.hookThreads() > 0
        ? config.hookThreads()
        : Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
  }

  private static java.util.concurrent.ThreadFactory named(String role) {
    return task -> {
      Thread thread = new Thread(task, "sluice-" + role);
      thread.setDaemon(true);
      return thread;
    };
  }

  /**
   * Rebuilds the state from {@code store}, and closes the store if that fails.
   *
   * @param onFailure called once or more when the store fails; must {@link #end} the machinery
   */
  static BrokerRuntime recover(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    try {
      return new BrokerRuntime(store, config, onFailure);
    } catch (RuntimeException | Error failure) {
      store.close();
      throw failure;
    }
  }

  /** Takes calls from now on. */
  void begin() {
    committer.start();
    loopThread.start();
  }

  private EngineLoop loop() {
    return Objects.requireNonNull(loop);
  }

  // ---- what callers do

  /** Whatever {@code input} answers, a broker that has ended fails all calls anyway. */
  public void input(Consumer<BrokerEngine> input) {
    inbox.put(input);
  }

  /** Puts an input that completes the returned future later. */
  public <T> CompletableFuture<T> call(BiConsumer<BrokerEngine, CompletableFuture<T>> input) {
    CompletableFuture<T> call = calls.begin();
    input(engine -> input.accept(engine, call));
    return call;
  }

  /** Asks the state machine something that changes nothing. */
  public <T> T ask(Function<BrokerEngine, T> question) {
    return PendingCalls.await(askLater(question));
  }

  /** As {@link #ask}, without waiting for the answer. */
  <T> CompletableFuture<T> askLater(Function<BrokerEngine, T> question) {
    CompletableFuture<T> call = calls.begin();
    input(
        machine -> {
          try {
            T answer = question.apply(machine);
            answer(List.of(new Completion<>(call, answer)));
          } catch (BrokerException refused) {
            refuse(call, refused);
          }
        });
    return call;
  }

  private static BrokerException closedException() {
    return new BrokerException(Code.STOPPED, "the broker is closed");
  }

  public MessageConsumer consume(
      Broker broker, String queue, int prefetch, MessageConsumer.@Nullable Handler handler) {
    CompletableFuture<ConsumerState> call = calls.begin();
    var consumer = new MessageConsumer(broker, this, queue, handler, handlers, call, waiting);
    var subscription =
        new Dispatcher.ConsumerRegistration(prefetch, prefetch > 0, consumer.outlet(), call);
    consumers.add(consumer);
    input(machine -> machine.dispatch.open(queue, subscription));
    try {
      PendingCalls.await(call);
    } catch (RuntimeException refused) {
      consumers.remove(consumer);
      throw refused;
    }
    return consumer;
  }

  public CompletableFuture<List<Delivery>> receive(
      Broker broker, String queue, int most, Duration wait, LongUnaryOperator room) {
    PendingReceive poll = new PendingReceive(calls.begin(), waiting);
    CompletableFuture<List<Delivery>> messages =
        new ReceiveCall(broker, this, handlers, poll, room).start();
    input(machine -> machine.dispatch.polls.open(queue, most, wait.toNanos(), poll));
    return messages;
  }

  public CompletableFuture<List<UUID>> ackAll(String queue, List<Dispatcher.LeaseRef> claims) {
    return call((machine, call) -> machine.dispatch.ackAll(queue, claims, call));
  }

  /**
   * Returns the route of a dead letter by the script of its source; its old one without a script.
   */
  InternedPlacement.Spec reroute(MessageEntry entry, HookBudget budget) {
    try {
      QueueRegistry.QueueHandle view = scripts.find(QueueNames.sourceOf(entry.line.name));
      MessageEnvelope envelope = reader.read(entry);
      if (view != null && envelope != null) {
        HookEngine.EnqueueContext arrival =
            new HookEngine.EnqueueContext(
                view.name(), envelope.headers(), envelope.payload().length);
        HookEngine.EnqueueResult assigned = scripts.assign(view, arrival, budget);
        if (assigned != null) {
          return EnqueuePipeline.route(assigned, entry.route.spec.priority());
        }
      }
    } catch (RuntimeException | Error unreadable) {
      LOG.log(System.Logger.Level.WARNING, "on_enqueue was not asked", unreadable);
    }
    return entry.route.spec;
  }

  // ---- what the state machine asks for

  @Override
  public void refuse(CompletableFuture<?> future, BrokerException why) {
    fail(future, why);
  }

  private void fail(CompletableFuture<?> future, Throwable why) {
    answers(() -> future.completeExceptionally(why));
  }

  @Override
  public boolean hasFailureHook(BrokerQueue line) {
    return line.config.onFailure() != null;
  }

  @Override
  public void askFailureHook(EngineState.FailureHookRequest question) {
    hooks.run(
        HookExecutor.Work.FAILURE,
        question.entry().line.name,
        1,
        () -> {
          HookEngine.FailureResult verdict = judge(question);
          input(machine -> machine.failures.verdict(question, verdict));
        });
  }

  private HookEngine.FailureResult judge(EngineState.FailureHookRequest question) {
    try {
      MessageEntry entry = question.entry();
      QueueRegistry.QueueHandle view = scripts.find(entry.line.name);
      MessageEnvelope envelope = reader.read(entry);
      if (view != null && envelope != null) {
        return scripts.judge(
            view,
            new HookEngine.FailureContext(
                view.name(),
                entry.id(),
                envelope.headers(),
                question.attempts(),
                question.nack().error()));
      }
    } catch (RuntimeException | Error unreadable) {
      LOG.log(System.Logger.Level.WARNING, "on_failure was not asked", unreadable);
    }
    return HookEngine.Retry.AT_ONCE;
  }

  /**
   * Changes the configuration of a queue as one step; tries again if another change comes first.
   *
   * @param revision the one that the queue must have; null for any
   * @return the new revision
   */
  public String update(String queue, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    while (true) {
      calls.requireOpen();
      QueueRegistry.QueueHandle view = scripts.view(queue);
      String expected = revision == null ? view.revision() : revision;
      QueueConfig config = change.apply(view.config());
      try {
        return configure(
            config, (machine, call) -> machine.admin.update(queue, config, expected, call));
      } catch (BrokerException refused) {
        if (revision != null || refused.code() != Code.REVISION_MISMATCH) {
          throw refused;
        }
      }
    }
  }

  /** Compiles the scripts of {@code config}, then creates or changes a queue. */
  public <T> T configure(
      QueueConfig config, BiConsumer<BrokerEngine, CompletableFuture<T>> change) {
    Runnable unpin = scripts.compile(config);
    boolean applied = false;
    try {
      CompletableFuture<T> call = calls.begin();
      input(engine -> change.accept(engine, call));
      T answer = PendingCalls.await(call);
      applied = true;
      return answer;
    } finally {
      unpin.run();
      if (!applied) {
        forgetUnusedScripts();
      }
    }
  }

  /** Sets a value of the configuration, or removes it. */
  public void changeConfig(String key, @Nullable String value) {
    PendingCalls.await(this.<Void>call((engine, call) -> engine.admin.setConfig(key, value, call)));
  }

  public static void requireConfigKey(String key) {
    String throttleKey = LimitConfigEntry.throttleKey(key);
    Checks.requireKey(
        throttleKey == null ? "key" : "throttle key", throttleKey == null ? key : throttleKey);
  }

  /** Drops what was compiled for a change of a queue that was refused. */
  void forgetUnusedScripts() {
    input(machine -> queuesChanged());
  }

  @Override
  public void queuesChanged() {
    scripts.publish(loop().lines());
  }

  @Override
  public void configChanged(String key, @Nullable String value) {
    scripts.publish(key, value);
  }

  // ---- what the committer says

  @Override
  public void written(CommitBatch batch) {
    reader.probed(batch);
    // Before the answers: whoever is answered and asks again sees what it was told.
    input(machine -> loop().written(batch));
    answer(batch.whenWritten.answers);
  }

  @Override
  public void synced(List<CommitBatch> batches) {
    input(machine -> loop().synced(batches));
    batches.forEach(batch -> answer(batch.whenSynced.answers));
  }

  private void answer(List<? extends Completion<?>> given) {
    if (!given.isEmpty()) {
      answers(() -> given.forEach(answer -> fenced(answer::give)));
    }
  }

  private void answers(Runnable task) {
    try {
      answers.execute(task);
    } catch (RejectedExecutionException ended) {
      // The broker has ended, and with it every call.
    }
  }

  public static void fenced(Runnable userCode) {
    try {
      userCode.run();
    } catch (Throwable thrown) {
      LOG.log(System.Logger.Level.WARNING, "a callback has thrown", thrown);
    }
  }

  @Override
  public void failed(Throwable why) {
    onFailure.accept(why);
  }

  /** Fails every call from now on, with {@code why} unless it ended before. */
  void end(BrokerException why) {
    tellEnd(why);
    inbox.close();
  }

  /** Calls fail, and consumers are told; on the thread of answers, as it runs code of theirs. */
  private void tellEnd(BrokerException why) {
    calls.refuseNew(why);
    try {
      answers.execute(() -> fenced(calls::failOpen));
    } catch (RejectedExecutionException ended) {
      calls.failOpen();
    }
    consumers.forEach(consumer -> consumer.end(why));
  }

  /** {@code consumer} is closed. */
  public void forget(MessageConsumer consumer) {
    consumers.remove(consumer);
  }

  /** Reads what is stored, as long as there is a store. */
  public <T> T reading(Supplier<T> read) {
    calls.requireOpen();
    try {
      return read.get();
    } catch (StoreException unreadable) {
      calls.requireOpen();
      throw new BrokerException(
          Code.STORE_FAILED, "the store cannot be read: " + unreadable.getMessage(), unreadable);
    }
  }

  /**
   * Reads messages that a consumer gets. Those that cannot be read fail, as if it had nacked them.
   *
   * @throws BrokerException if there is none that can be read, but one that cannot
   */
  public List<Delivery> read(Broker broker, List<PendingDelivery> handovers) {
    return reading(
        () -> {
          MessageReader.Found found = reader.read(broker, handovers);
          StoreException failure = found.failure();
          if (failure != null) {
            calls.requireOpen();
            found.unreadable().forEach(each -> failUnreadable(each, failure));
            if (found.deliveries().isEmpty()) {
              throw failure;
            }
          }
          return found.deliveries();
        });
  }

  private void failUnreadable(PendingDelivery handover, StoreException why) {
    MessageEntry entry = handover.entry();
    LOG.log(
        System.Logger.Level.WARNING,
        "a message cannot be read: queue=%s, id=%s".formatted(entry.line.name, entry.id()),
        why);
    String error = "the message cannot be read: " + why.getMessage();
    input(machine -> machine.failures.unreadable(handover.lease(), error));
  }

  @Override
  public boolean isReadable(MessageEntry entry) {
    return !reader.isUnreadable(entry);
  }

  void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    hooks.drain(HOOKS_PATIENCE);
    input(machine -> machine.dispatch.stop());
    finish();
    tellEnd(closedException());
    release();
  }

  /** Closes the store after {@link #end}, without waiting for scripts, and frees the memory. */
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
    Committer.join(loopThread);
    committer.finish();
  }

  private void release() {
    hooks.stop();
    handlers.shutdownNow();
    answers.shutdown();
    if (!(Thread.currentThread() instanceof PendingCalls.CallbackThread)) {
      awaitAnswers();
    }
    store.close();
  }

  private void awaitAnswers() {
    try {
      if (!answers.awaitTermination(ANSWERS_SECONDS, TimeUnit.SECONDS)) {
        LOG.log(System.Logger.Level.WARNING, "a callback blocks the answers of the broker");
      }
    } catch (InterruptedException goOn) {
      Thread.currentThread().interrupt();
    }
  }
}
