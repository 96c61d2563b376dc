package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;
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
final class Machinery implements BrokerState.Outputs, Committer.Listener {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());

  /** Messages and remembered ids may take one part in this many of the heap. */
  static final int MESSAGES_SHARE = 2;

  /** Queues, scripts and configuration may take one part in this many of the heap. */
  private static final int SETUP_SHARE = 8;

  /** How long closing waits for callbacks that are under way. */
  private static final long ANSWERS_SECONDS = 10;

  /** How long closing waits for scripts of calls that are under way. */
  private static final Duration HOOKS_PATIENCE = Duration.ofSeconds(5);

  final Scripts scripts;
  final Calls calls = new Calls();
  final Reader reader;
  final HookPool hooks;
  final Enqueuer enqueuer;
  private final Store store;
  private final Inbox inbox;
  private final Committer committer;
  private final Consumer<Throwable> onFailure;
  private final Thread loopThread;

  /** Null once it is abandoned, so that the state of all messages can be collected. */
  private volatile @Nullable Loop loop;

  private final ExecutorService answers =
      Executors.newSingleThreadExecutor(Calls.AnswerThread::new);
  private final ExecutorService handlers = Executors.newCachedThreadPool(named("handler"));
  private final Set<dev.sluice.broker.Consumer> consumers = ConcurrentHashMap.newKeySet();
  private final BodyRoom waiting = new BodyRoom();
  private final AtomicBoolean closed = new AtomicBoolean();

  private Machinery(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    this.store = store;
    this.onFailure = onFailure;
    this.reader = new Reader(store);
    this.inbox = new Inbox(config.maxInboundBytes());
    this.scripts = new Scripts(config.metrics());
    this.hooks = new HookPool(hookThreads(config), config.maxInboundBytes(), named("hooks"));
    this.enqueuer = new Enqueuer(config, scripts, hooks, inbox, calls, this::fail);
    Recovery.Start start = BrokerClock.start();
    long heap = Runtime.getRuntime().maxMemory();
    Engine engine = Recovery.recover(store, start, this, config.metrics(), heap);
    this.committer = new Committer(store, config, this);
    BrokerClock clock = BrokerClock.from(engine.state.now, start.bootNanos());
    Loop fresh = new Loop(engine, inbox, clock, store, config, committer::submit, this::failed);
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
  static Machinery recover(Store store, BrokerConfig config, Consumer<Throwable> onFailure) {
    try {
      return new Machinery(store, config, onFailure);
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

  private Loop loop() {
    return Objects.requireNonNull(loop);
  }

  // ---- what callers do

  /** Whatever {@code input} answers, a broker that has ended fails all calls anyway. */
  void input(Consumer<Engine> input) {
    inbox.put(input);
  }

  /** Puts an input that completes the returned future later. */
  <T> CompletableFuture<T> call(BiConsumer<Engine, CompletableFuture<T>> input) {
    CompletableFuture<T> call = calls.begin();
    input(engine -> input.accept(engine, call));
    return call;
  }

  /** Asks the state machine something that changes nothing. */
  <T> T ask(Function<Engine, T> question) {
    return Calls.await(askLater(question));
  }

  /** As {@link #ask}, without waiting for the answer. */
  <T> CompletableFuture<T> askLater(Function<Engine, T> question) {
    CompletableFuture<T> call = calls.begin();
    input(
        machine -> {
          try {
            T answer = question.apply(machine);
            answer(List.of(new Answer<>(call, answer)));
          } catch (BrokerException refused) {
            refuse(call, refused);
          }
        });
    return call;
  }

  private static BrokerException closedException() {
    return new BrokerException(Code.STOPPED, "the broker is closed");
  }

  dev.sluice.broker.Consumer consume(
      Broker broker,
      String queue,
      int prefetch,
      dev.sluice.broker.Consumer.@Nullable Handler handler) {
    CompletableFuture<Subscriber> call = calls.begin();
    var consumer =
        new dev.sluice.broker.Consumer(broker, this, queue, handler, handlers, call, waiting);
    var subscription = new Dispatch.Subscription(prefetch, prefetch > 0, consumer.outlet(), call);
    consumers.add(consumer);
    input(machine -> machine.dispatch.open(queue, subscription));
    try {
      Calls.await(call);
    } catch (RuntimeException refused) {
      consumers.remove(consumer);
      throw refused;
    }
    return consumer;
  }

  CompletableFuture<List<Delivery>> receive(
      Broker broker, String queue, int most, Duration wait, LongUnaryOperator room) {
    Poll poll = new Poll(calls.begin(), waiting);
    CompletableFuture<List<Delivery>> messages =
        new ReceiveCall(broker, this, handlers, poll, room).start();
    input(machine -> machine.dispatch.polls.open(queue, most, wait.toNanos(), poll));
    return messages;
  }

  CompletableFuture<List<UUID>> ackAll(String queue, List<Dispatch.Claim> claims) {
    return call((machine, call) -> machine.dispatch.ackAll(queue, claims, call));
  }

  /**
   * Returns the route of a dead letter by the script of its source; its old one without a script.
   */
  Route.Spec reroute(Entry entry, HookBudget budget) {
    try {
      Scripts.View view = scripts.find(DeadLetter.sourceOf(entry.line.name));
      Envelope envelope = reader.read(entry);
      if (view != null && envelope != null) {
        HookEngine.Arrival arrival =
            new HookEngine.Arrival(view.name(), envelope.headers(), envelope.payload().length);
        HookEngine.Assignment assigned = scripts.assign(view, arrival, budget);
        if (assigned != null) {
          return Enqueuer.route(assigned, entry.route.spec.priority());
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
  public boolean hasFailureHook(Line line) {
    return line.config.onFailure() != null;
  }

  @Override
  public void askFailureHook(BrokerState.FailureQuestion question) {
    hooks.run(
        HookPool.Work.FAILURE,
        question.entry().line.name,
        1,
        () -> {
          HookEngine.Verdict verdict = judge(question);
          input(machine -> machine.failures.verdict(question, verdict));
        });
  }

  private HookEngine.Verdict judge(BrokerState.FailureQuestion question) {
    try {
      Entry entry = question.entry();
      Scripts.View view = scripts.find(entry.line.name);
      Envelope envelope = reader.read(entry);
      if (view != null && envelope != null) {
        return scripts.judge(
            view,
            new HookEngine.Failure(
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
  String update(String queue, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    while (true) {
      calls.requireOpen();
      Scripts.View view = scripts.view(queue);
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
  <T> T configure(QueueConfig config, BiConsumer<Engine, CompletableFuture<T>> change) {
    Runnable unpin = scripts.compile(config);
    boolean applied = false;
    try {
      CompletableFuture<T> call = calls.begin();
      input(engine -> change.accept(engine, call));
      T answer = Calls.await(call);
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
  void changeConfig(String key, @Nullable String value) {
    Calls.await(this.<Void>call((engine, call) -> engine.admin.setConfig(key, value, call)));
  }

  static void requireConfigKey(String key) {
    String throttleKey = ThrottleRate.throttleKey(key);
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
  public void written(Batch batch) {
    reader.probed(batch);
    // Before the answers: whoever is answered and asks again sees what it was told.
    input(machine -> loop().written(batch));
    answer(batch.whenWritten.answers);
  }

  @Override
  public void synced(List<Batch> batches) {
    input(machine -> loop().synced(batches));
    batches.forEach(batch -> answer(batch.whenSynced.answers));
  }

  private void answer(List<? extends Answer<?>> given) {
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

  static void fenced(Runnable userCode) {
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
  void forget(dev.sluice.broker.Consumer consumer) {
    consumers.remove(consumer);
  }

  /** Reads what is stored, as long as there is a store. */
  <T> T reading(Supplier<T> read) {
    calls.requireOpen();
    try {
      return read.get();
    } catch (StoreException unreadable) {
      calls.requireOpen();
      throw new BrokerException(
          Code.STORE, "the store cannot be read: " + unreadable.getMessage(), unreadable);
    }
  }

  /**
   * Reads messages that a consumer gets. Those that cannot be read fail, as if it had nacked them.
   *
   * @throws BrokerException if there is none that can be read, but one that cannot
   */
  List<Delivery> read(Broker broker, List<Handover> handovers) {
    return reading(
        () -> {
          Reader.Found found = reader.read(broker, handovers);
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

  private void failUnreadable(Handover handover, StoreException why) {
    Entry entry = handover.entry();
    LOG.log(
        System.Logger.Level.WARNING,
        "a message cannot be read: queue=%s, id=%s".formatted(entry.line.name, entry.id()),
        why);
    String error = "the message cannot be read: " + why.getMessage();
    input(machine -> machine.failures.unreadable(handover.lease(), error));
  }

  @Override
  public boolean isReadable(Entry entry) {
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
    if (!(Thread.currentThread() instanceof Calls.AnswerThread)) {
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
