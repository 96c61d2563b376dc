package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a broker, and what goes between them.
 *
 * <pre>
 *   callers --inputs--> loop --batches--> writer --batches--> syncer
 *                        ^                  |                   |
 *                        +------ inputs ----+-------------------+---answers--> callers
 * </pre>
 */
final class Machinery implements BrokerState.Outputs, Committer.Listener {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());
  private static final int REDRIVE_AT_ONCE = 500;

  /** Messages and remembered ids take at most one part in so many of the heap. */
  private static final int MESSAGES_SHARE = 2;

  /** So do queues, scripts and configuration. */
  private static final int SETUP_SHARE = 8;

  /** How long closing waits for callbacks that are under way. */
  private static final long ANSWERS_SECONDS = 10;

  final Scripts scripts;
  final Calls calls = new Calls();
  final Reader reader;
  private final Store store;
  private final BrokerConfig config;
  private final Inbox inbox;
  private final Committer committer;
  private final Engine engine;
  private final Loop loop;
  private final Thread loopThread;
  private final ExecutorService answers =
      Executors.newSingleThreadExecutor(Calls.AnswerThread::new);
  private final ExecutorService hooks = Executors.newSingleThreadExecutor(named("hooks"));
  private final ExecutorService handlers = Executors.newCachedThreadPool(named("handler"));
  private final Set<dev.sluice.broker.Consumer> consumers = ConcurrentHashMap.newKeySet();
  private final BodyRoom waiting = new BodyRoom();
  private final AtomicBoolean closed = new AtomicBoolean();

  private Machinery(Store store, BrokerConfig config) {
    this.store = store;
    this.config = config;
    this.reader = new Reader(store);
    this.inbox = new Inbox(config.maxInboundBytes());
    this.scripts = new Scripts(config.metrics());
    Recovery.Start start = BrokerClock.start();
    this.engine = Recovery.recover(store, start, this, config.metrics());
    this.committer = new Committer(store, config, this);
    BrokerClock clock = BrokerClock.from(engine.state.now, start.bootNanos());
    this.loop = new Loop(engine, inbox, clock, store, config, committer::submit, this::failed);
    this.loopThread = new Thread(loop, "sluice-broker");
    long heap = Runtime.getRuntime().maxMemory();
    engine.state.messageRoom.bound(heap / MESSAGES_SHARE);
    engine.state.setupRoom.bound(heap / SETUP_SHARE);
    engine.state.config.forEach(scripts::publish);
    scripts.publish(engine.state.lines.values());
  }

  private static java.util.concurrent.ThreadFactory named(String role) {
    return task -> {
      Thread thread = new Thread(task, "sluice-" + role);
      thread.setDaemon(true);
      return thread;
    };
  }

  static Machinery start(Store store, BrokerConfig config) {
    try {
      Machinery machinery = new Machinery(store, config);
      machinery.committer.start();
      machinery.loopThread.start();
      return machinery;
    } catch (RuntimeException | Error failure) {
      store.close();
      throw failure;
    }
  }

  // ---- what callers do

  /** Whatever {@code input} answers, a broker that has ended fails all calls anyway. */
  void input(Consumer<Engine> input) {
    inbox.put(input);
  }

  /** Asks the state machine something that changes nothing. */
  <T> T ask(Function<Engine, T> question) {
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
    return Calls.await(call);
  }

  /** Waits for a change of a queue; what was compiled for one that is refused is forgotten. */
  void awaitSetup(CompletableFuture<Void> call) {
    try {
      Calls.await(call);
    } catch (BrokerException refused) {
      input(machine -> queuesChanged());
      throw refused;
    }
  }

  CompletableFuture<List<UUID>> submit(String queue, List<Message> messages) {
    Scripts.View view = scripts.find(queue);
    List<Submission> submissions = new ArrayList<>(messages.size());
    long bytes = 0;
    if (view != null) {
      for (Message message : messages) {
        Submission submission = prepare(view, message);
        submissions.add(submission);
        bytes += submission.bytes();
      }
      Checks.requireBetween("bytes of messages", bytes, 0, config.maxInboundBytes());
    }
    CompletableFuture<List<UUID>> call = calls.begin();
    if (call.isDone()) {
      return call;
    }
    if (view == null) {
      config.metrics().refused(queue, Code.QUEUE_NOT_FOUND);
      call.completeExceptionally(Scripts.notFound(queue));
    } else if (!inbox.putMessages(
        machine -> machine.intake.enqueue(queue, submissions, call), bytes)) {
      busy(queue, call);
    }
    return call;
  }

  private void busy(String queue, CompletableFuture<?> call) {
    if (inbox.isClosed()) {
      call.completeExceptionally(closedException());
      return;
    }
    config.metrics().refused(queue, Code.BUSY);
    call.completeExceptionally(
        new BrokerException(
            Code.BUSY,
            "more is being enqueued than the broker can take: maxInboundBytes="
                + config.maxInboundBytes()));
  }

  private static BrokerException closedException() {
    return new BrokerException(Code.STOPPED, "the broker is closed");
  }

  private Submission prepare(Scripts.View view, Message message) {
    byte[] body = Envelope.encode(message.headers, message.payload);
    Checks.requireBetween("bytes of message", body.length, 0, config.maxMessageBytes());
    HookEngine.Assignment assigned = scripts.assign(view, message.headers, message.payload.length);
    Route.Spec route =
        assigned == null
            ? new Route.Spec(message.key, message.weight, message.priority, message.throttles)
            : route(assigned, message.priority);
    return new Submission(
        route, body, message.delay.toNanos(), message.timeToLive.toNanos(), message.dedupeId);
  }

  private static Route.Spec route(HookEngine.Assignment assigned, int priority) {
    SortedMap<String, Long> throttles = Collections.emptySortedMap();
    if (!assigned.throttleKeys().isEmpty()) {
      throttles = new TreeMap<>();
      for (String key : assigned.throttleKeys()) {
        throttles.put(key, 1L);
      }
    }
    return new Route.Spec(assigned.fairnessKey(), assigned.weight(), priority, throttles);
  }

  dev.sluice.broker.Consumer consume(
      Broker broker,
      String queue,
      int prefetch,
      dev.sluice.broker.Consumer.@Nullable Handler handler) {
    CompletableFuture<Subscriber> call = calls.begin();
    var consumer = new dev.sluice.broker.Consumer(broker, queue, handler, handlers, call, waiting);
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

  CompletableFuture<List<UUID>> ackAll(String queue, List<Dispatch.Claim> claims) {
    CompletableFuture<List<UUID>> call = calls.begin();
    input(machine -> machine.dispatch.ackAll(queue, claims, call));
    return call;
  }

  long redrive(String queue, long count, boolean runScript) {
    // What becomes a dead letter again meanwhile is not for this time.
    long end = ask(machine -> machine.state.nextSequence);
    long moved = 0;
    long from = 0;
    while (moved < count) {
      int limit = (int) Math.min(count - moved, REDRIVE_AT_ONCE);
      CompletableFuture<List<Entry>> claim = calls.begin();
      Admin.Range range = new Admin.Range(from, end);
      input(machine -> machine.admin.claimDeadLetters(queue, limit, range, claim));
      List<Entry> claimed = Calls.await(claim);
      if (claimed.isEmpty()) {
        break;
      }
      from = claimed.get(claimed.size() - 1).sequence + 1;
      List<Route.Spec> routes = new ArrayList<>();
      claimed.forEach(entry -> routes.add(runScript ? reroute(entry) : entry.route.spec));
      CompletableFuture<Integer> move = calls.begin();
      input(machine -> machine.admin.redrive(claimed, routes, move));
      moved += Calls.await(move);
    }
    return moved;
  }

  private Route.Spec reroute(Entry entry) {
    Scripts.View view = scripts.find(DeadLetter.sourceOf(entry.line.name));
    Envelope envelope = reader.read(entry);
    if (view == null || envelope == null) {
      return entry.route.spec;
    }
    HookEngine.Assignment assigned =
        scripts.assign(view, envelope.headers(), envelope.payload().length);
    return assigned == null ? entry.route.spec : route(assigned, entry.route.spec.priority());
  }

  // ---- what the state machine asks for

  @Override
  public void refuse(CompletableFuture<?> future, BrokerException why) {
    answers(() -> future.completeExceptionally(why));
  }

  @Override
  public boolean hasFailureHook(Line line) {
    return line.config.onFailure() != null;
  }

  @Override
  public void askFailureHook(BrokerState.FailureQuestion question) {
    hooks.execute(
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
                question.error()));
      }
    } catch (RuntimeException | Error unreadable) {
      LOG.log(System.Logger.Level.WARNING, "on_failure was not asked", unreadable);
    }
    return HookEngine.Retry.AT_ONCE;
  }

  @Override
  public void queuesChanged() {
    scripts.publish(engine.state.lines.values());
  }

  @Override
  public void configChanged(String key, @Nullable String value) {
    scripts.publish(key, value);
  }

  // ---- what the committer says

  @Override
  public void written(Batch batch) {
    // Before the answers: whoever is answered and asks again sees what it was told.
    input(machine -> loop.written(batch));
    answer(batch.whenWritten.answers);
  }

  @Override
  public void synced(List<Batch> batches) {
    input(machine -> loop.synced(batches));
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
    LOG.log(System.Logger.Level.ERROR, "the broker stops", why);
    end(new BrokerException(Code.STOPPED, "the broker has stopped: " + why.getMessage(), why));
    inbox.close();
  }

  /** Calls fail, and consumers are told; on the thread of answers, as it runs code of theirs. */
  private void end(BrokerException why) {
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
      throw new BrokerException(
          Code.STOPPED, "the broker has stopped: " + unreadable.getMessage(), unreadable);
    }
  }

  void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    input(machine -> machine.dispatch.stop());
    inbox.close();
    Committer.join(loopThread);
    committer.finish();
    end(closedException());
    hooks.shutdownNow();
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
