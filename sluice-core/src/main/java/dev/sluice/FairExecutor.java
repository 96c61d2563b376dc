package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requireNonEmpty;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.executor.DispatchingExecutor;
import dev.sluice.internal.executor.ExecutorSettings;
import dev.sluice.internal.executor.WorkerThreadFactory;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks fairly by tenant and within the limits of throttle keys, on threads of its own or on
 * any other {@link Executor}.
 *
 * <p>The next task is chosen when a worker is free, as by a {@link FairScheduler}: by weight
 * between fairness keys with queued tasks, first come first served within one. A new fairness key
 * gets a turn almost at once, however much the others have queued. A {@link Placement} names the
 * fairness key of a task, its priority, its cost and the throttle keys that it obeys; in every
 * window of length w, tasks that name a throttle key are handed out for at most {@code burst + rate
 * · w} of its tokens.
 *
 * <pre>{@code
 * try (FairExecutor executor =
 *     FairExecutor.builder().threads(8).limit("provider", Limit.perSecond(5)).build()) {
 *   Placement noisy = Placement.of("noisy").withThrottleKeys("provider");
 *   Placement quiet = Placement.of("quiet").withThrottleKeys("provider");
 *   for (String document : documents) { // thousands of them
 *     executor.execute(noisy, () -> call(document));
 *   }
 *   CompletableFuture<String> reply = executor.submit(quiet, () -> call("hello"));
 *   reply.join(); // after one or two calls of the noisy tenant, not behind them all
 *   executor.shutdownNow(); // close() alone would wait for every document
 * }
 * }</pre>
 *
 * <p>Thread-safe. Only {@link #awaitTermination} and {@link #close} block. Tasks, callbacks of
 * their futures and the delegate are called without a lock held, so they may use the executor in
 * turn; nothing polls.
 *
 * <p>A task counts as running, and holds its worker and its slot, until the callbacks that its
 * future runs on its thread are over. A task that waits for another one, or that calls {@link
 * #close}, deadlocks if no worker is free; with an Executor that runs tasks in the calling thread,
 * always.
 *
 * <p>Not promised: that a task begins when it was handed out if the delegate has a queue of its
 * own; that a task that runs can be stopped; that a task ever runs whose throttle key has rate 0.
 *
 * @since 0.1
 */
public sealed interface FairExecutor extends Executor, AutoCloseable permits DispatchingExecutor {
  /** The tenant of tasks that come without one. */
  String DEFAULT_FAIRNESS_KEY = "default";

  /**
   * An executor with threads of its own and default settings.
   *
   * @param threads how many tasks may run at a time
   * @return a new executor
   */
  static FairExecutor ofThreads(int threads) {
    return builder().threads(threads).build();
  }

  /**
   * Begins an executor.
   *
   * @return a builder
   */
  static Builder builder() {
    return new Builder();
  }

  /**
   * Queues a task that has a result.
   *
   * <p>To cancel the future takes a queued task out of the queue at once, as if it had never been
   * there: its place is free and it takes no token. Once it was handed to a thread, {@code cancel}
   * returns false and does nothing, not even interrupt it: a canceled task is one that did not run.
   * To complete the future by other means, {@code orTimeout} among them, takes a queued task out of
   * the queue too; one that runs goes on, and its result is dropped. Futures derived from this one
   * have no such effect.
   *
   * @param placement its fairness key, priority, cost and throttle keys
   * @param task the task; an exception that it throws completes the future
   * @param <T> what it returns
   * @return the future of its result; fails with {@link
   *     java.util.concurrent.RejectedExecutionException} if the delegate refuses the task, whose
   *     tokens are not given back, or if {@link #setLimit} makes it impossible
   * @throws java.util.concurrent.RejectedExecutionException if the bound of queued tasks is
   *     reached, after a shutdown, or if the task can never go: a throttle key refills, but its
   *     burst is less than what the task takes there
   * @throws IllegalArgumentException if it costs more than {@link Builder#maxCost}, or names a
   *     throttle key without a limit and the executor has {@link Builder#strictThrottleKeys}
   */
  <T> CompletableFuture<T> submit(Placement placement, Callable<T> task);

  /**
   * Queues a task without a result; like {@link #submit(Placement, Callable)} in all else.
   *
   * @param placement its fairness key, priority, cost and throttle keys
   * @param task the task
   * @return the future of its end
   */
  CompletableFuture<Void> submit(Placement placement, Runnable task);

  /**
   * Queues a task of a fairness key that obeys no throttle key.
   *
   * @param fairnessKey the fairness key of the task
   * @param task the task
   * @param <T> what it returns
   * @return the future of its result
   */
  default <T> CompletableFuture<T> submit(String fairnessKey, Callable<T> task) {
    return submit(Placement.of(fairnessKey), task);
  }

  /**
   * Queues a task of a fairness key that obeys no throttle key.
   *
   * @param fairnessKey the fairness key of the task
   * @param task the task
   * @return the future of its end
   */
  default CompletableFuture<Void> submit(String fairnessKey, Runnable task) {
    return submit(Placement.of(fairnessKey), task);
  }

  /**
   * Queues a task of {@link #DEFAULT_FAIRNESS_KEY}.
   *
   * @param task the task
   */
  @Override
  default void execute(Runnable task) {
    execute(Placement.of(DEFAULT_FAIRNESS_KEY), task);
  }

  /**
   * Queues a task without returning a future.
   *
   * <p>What it throws goes to the handler of uncaught exceptions of the thread it ran on, which
   * lives on; so does the refusal of a delegate, on the thread that tried to hand it over, and the
   * failure of a task that a call of {@link #setLimit} made impossible, on the thread of that call.
   *
   * @param placement its fairness key, priority, cost and throttle keys
   * @param task the task
   * @throws java.util.concurrent.RejectedExecutionException as for {@link #submit(Placement,
   *     Callable)}
   * @throws IllegalArgumentException as for {@link #submit(Placement, Callable)}
   */
  void execute(Placement placement, Runnable task);

  /**
   * Returns a view for code that knows nothing of fairness keys.
   *
   * @param placement the placement of every task that the view queues
   * @return a view of this executor
   */
  default Executor executorFor(Placement placement) {
    Objects.requireNonNull(placement, "placement");
    return task -> execute(placement, task);
  }

  /**
   * Sets a limit, in force at once, for queued tasks too.
   *
   * <p>A throttle key without a limit lets everything pass. At first the bucket is full; later its
   * tokens are kept, clamped to the new burst.
   *
   * <p>Queued tasks that take more tokens than the new burst can never go: they fail at once with a
   * {@link java.util.concurrent.RejectedExecutionException}, and do not return if the burst is
   * raised later. A limit that does not refill pauses its tasks instead: they wait until it changes
   * or is removed.
   *
   * @param name the name of the limit, which tasks name as a throttle key; not empty
   * @param limit a {@link Limit.Balanced}, {@link Limit.Rate} or {@link Limit.DenyAll}
   * @throws IllegalArgumentException if the limit is {@link Limit.Strict} or {@link Limit.Manual},
   *     or no exact scale fits it; nothing changes
   */
  void setLimit(String name, Limit limit);

  /**
   * Removes a limit: tasks that wait for it can go.
   *
   * @param name the name of the limit
   * @return false if there was none
   */
  boolean removeLimit(String name);

  /**
   * Sets the weight of a fairness key, in force at once and until it is set again.
   *
   * @param fairnessKey the fairness key
   * @param weight from 1, the default, to {@link Placement#MAX_WEIGHT}
   */
  void setWeight(String fairnessKey, int weight);

  /**
   * Limits how many tasks of each fairness key may run at a time, except of keys with a limit of
   * their own. Tasks that began while there was none do not count.
   *
   * @param max at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  void setMaxInFlightPerKey(int max);

  /**
   * Limits how many tasks of one fairness key may run at a time. Tasks that began while there was
   * no limit do not count.
   *
   * @param fairnessKey the fairness key
   * @param max at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  void setMaxInFlight(String fairnessKey, int max);

  /**
   * Returns the number of waiting tasks, of all fairness keys.
   *
   * @return tasks submitted and neither handed out nor canceled
   */
  int queued();

  /**
   * Returns the number of tasks that were handed to workers and have not ended.
   *
   * @return at most the number of workers
   */
  int running();

  /**
   * Returns the state of one fairness key.
   *
   * @param fairnessKey the fairness key
   * @return a snapshot; empty if no task of it waits
   */
  Optional<FairnessKeyStats> stats(String fairnessKey);

  /**
   * Returns the state of every limit, by name.
   *
   * @return a snapshot
   */
  List<LimitStats> limitStats();

  /**
   * Returns how many tasks named a throttle key without a limit, often a misspelled one. Such a key
   * lets tasks pass, unless the executor has {@link Builder#strictThrottleKeys}.
   *
   * @return tasks submitted so far, including refused ones
   */
  long unknownThrottleKeys();

  /**
   * Rejects tasks from now on. Queued ones still run, when their turn and their tokens come.
   *
   * <p>Does not wait, and does nothing the second time.
   */
  void shutdown();

  /**
   * Rejects tasks from now on and drops waiting ones; their futures are canceled.
   *
   * <p>Threads of its own are interrupted; tasks on an Executor of the caller are left alone. Does
   * not wait.
   *
   * @return the dropped tasks that were given to {@code execute}, which have no future
   */
  List<Runnable> shutdownNow();

  /**
   * Returns whether this executor rejects new tasks.
   *
   * @return true after {@link #shutdown}, {@link #shutdownNow} or {@link #close}
   */
  boolean isShutdown();

  /**
   * Returns whether this executor is shut down and all tasks have ended.
   *
   * @return true if nothing waits and nothing runs any more
   */
  boolean isTerminated();

  /**
   * Waits until everything has ended after a shutdown, threads of its own included.
   *
   * @param timeout the longest time to wait, in real time on any clock of this executor
   * @return false if it took longer
   * @throws InterruptedException if the caller is interrupted while it waits
   */
  boolean awaitTermination(Duration timeout) throws InterruptedException;

  /**
   * Shuts down and waits until everything has ended, however long that takes: for a task of a key
   * of rate 0, until the key has another rate or none.
   *
   * <p>If the caller is interrupted, what is queued is dropped as by {@link #shutdownNow}, what
   * runs is still waited for, and the caller finds itself interrupted afterwards.
   */
  @Override
  void close();

  /** Settings of a new executor. Not thread-safe. */
  final class Builder {
    private static final int DEFAULT_MAX_QUEUED = 10_000;

    private int parallelism = Runtime.getRuntime().availableProcessors();
    private int maxQueued = DEFAULT_MAX_QUEUED;
    private int maxQueuedPerKey = Integer.MAX_VALUE;
    private long maxCost = 1;
    private NanoClock clock = NanoClock.system();
    private boolean strictThrottleKeys;

    /** The delegate; null if the executor has threads of its own. */
    private @Nullable Executor delegate;

    private final Map<String, Limit> limits = new LinkedHashMap<>();
    private @Nullable ThreadFactory factory;

    private Builder() {}

    /**
     * Runs tasks on threads of its own, which is the default, with one for every processor.
     *
     * <p>They start when they are needed, stay until the executor has ended and are no daemons: the
     * JVM does not exit over queued work, nor without {@link FairExecutor#close}.
     *
     * @param count how many, at least 1
     * @return this builder
     */
    public Builder threads(int count) {
      requirePositive("threads", count);
      this.parallelism = count;
      this.delegate = null;
      return this;
    }

    /**
     * Sets the factory of the executor's own threads.
     *
     * @param threadFactory makes a new thread for each call
     * @return this builder
     */
    public Builder threadFactory(ThreadFactory threadFactory) {
      this.factory = Objects.requireNonNull(threadFactory, "threadFactory");
      return this;
    }

    /**
     * Runs tasks on another Executor, with one call of its {@code execute} for each.
     *
     * <p>It may run them in the calling thread, which then submits or ends a task or runs the
     * timer, and is occupied as long as tasks can run. It must run what it accepts: a task that it
     * drops without an exception holds its worker for ever. It is not shut down with this one.
     *
     * @param executor the Executor
     * @param most how many tasks it gets at a time, at least 1
     * @return this builder
     */
    public Builder executor(Executor executor, int most) {
      requirePositive("parallelism", most);
      this.delegate = Objects.requireNonNull(executor, "executor");
      this.parallelism = most;
      return this;
    }

    /**
     * Limits how many tasks may wait, of all fairness keys together.
     *
     * @param most at least 1; 10,000 by default
     * @return this builder
     */
    public Builder maxQueued(int most) {
      requirePositive("maxQueued", most);
      this.maxQueued = most;
      return this;
    }

    /**
     * Limits how many tasks of one fairness key may wait, so that none fills the queue alone.
     *
     * @param most at least 1; unlimited by default
     * @return this builder
     */
    public Builder maxQueuedPerKey(int most) {
      requirePositive("maxQueuedPerKey", most);
      this.maxQueuedPerKey = most;
      return this;
    }

    /**
     * The most that one task may cost, and what a tenant of weight 1 may spend in a turn.
     *
     * @param most from 1, which is the default, to {@link FairScheduler#MAX_COST}
     * @return this builder
     */
    public Builder maxCost(long most) {
      requirePositive("maxCost", most);
      this.maxCost = requireAtMost("maxCost", most, FairScheduler.MAX_COST);
      return this;
    }

    /**
     * Sets a limit from the start.
     *
     * @param name the name of the limit, not empty
     * @param limit as for {@link FairExecutor#setLimit}
     * @return this builder
     */
    public Builder limit(String name, Limit limit) {
      requireNonEmpty("limit", name);
      limits.put(name, Objects.requireNonNull(limit, "limit"));
      return this;
    }

    /**
     * Refuses tasks that name a throttle key without a limit, so that a misspelled key is noticed.
     * Removing a limit lets queued tasks pass; it does not refuse them.
     *
     * @return this builder
     */
    public Builder strictThrottleKeys() {
      this.strictThrottleKeys = true;
      return this;
    }

    /**
     * Sets the clock of the limits.
     *
     * @param source a clock that neither blocks nor calls back; the system's by default
     * @return this builder
     */
    public Builder clock(NanoClock source) {
      this.clock = Objects.requireNonNull(source, "source");
      return this;
    }

    /**
     * Makes the executor.
     *
     * @return a new executor, which starts no thread before it gets a task
     */
    public FairExecutor build() {
      ExecutorService own = delegate == null ? ownThreads() : null;
      return new DispatchingExecutor(
          new ExecutorSettings(
              own == null ? Objects.requireNonNull(delegate) : own,
              own,
              parallelism,
              maxQueued,
              maxQueuedPerKey,
              maxCost,
              strictThrottleKeys,
              clock,
              Collections.unmodifiableMap(new LinkedHashMap<>(limits))));
    }

    private ExecutorService ownThreads() {
      ThreadFactory threads = factory == null ? new WorkerThreadFactory() : factory;
      return new ThreadPoolExecutor(
          parallelism,
          parallelism,
          0,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          task -> Objects.requireNonNull(threads.newThread(task), "the thread factory's thread"));
    }
  }
}
