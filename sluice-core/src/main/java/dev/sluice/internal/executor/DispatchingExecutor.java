package dev.sluice.internal.executor;

import dev.sluice.FairExecutor;
import dev.sluice.FairQueue;
import dev.sluice.FairnessKeyStats;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.NanoClock;
import dev.sluice.Next;
import dev.sluice.Placement;
import dev.sluice.internal.scheduler.DrrScheduler;
import dev.sluice.internal.time.ClockTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The executor: a scheduler under a lock, and the threads or delegate that run its tasks. */
public final class DispatchingExecutor implements FairExecutor {
  /*
   * Mechanism. Every input (a task, a limit, the end of a task, a cancellation, the timer) goes
   * through input(): it changes the scheduler and, under the same lock, takes a task that is ready
   * if a worker is free. The calling thread hands that task to the workers, then takes and hands
   * over more until nothing is ready. A worker thread of its own that ends a task keeps the next.
   *
   * Invariant. While no thread is between taking and handing over: all workers are busy, or nothing
   * is ready and the timer is set to the time at which something will be.
   *
   * Trampoline. A delegate may run the task inside execute(). Inputs of that task on the same thread
   * leave the hand-over to the call further up the stack, so the stack does not grow with the tasks.
   *
   * Concurrency. User code (tasks, callbacks, the delegate, a thread factory) runs outside the lock.
   * The clock is read and the timer set under it. Lock order: this lock, then the timer's or pool's.
   */
  private final NanoClock clock;
  private final Executor delegate;

  /** The delegate, if the threads are our own. */
  private final @Nullable ExecutorService own;

  private final int parallelism;
  private final boolean strictThrottleKeys;

  /** True on a thread while it hands over tasks. */
  private final ThreadLocal<Boolean> handingOver = new ThreadLocal<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();

  // Guarded by lock.
  private final DrrScheduler<FairTask<?>> scheduler;
  private final FairQueue<FairTask<?>> queue;
  private final QueuedTasks waiting;
  private int running;
  private long unknownThrottleKeys;
  private boolean shutdown;
  private boolean terminated;
  private boolean interrupting;

  /** Threads of our own that run tasks. */
  private final Set<Thread> busy = new HashSet<>();

  private final DispatchTimer wakeUp;

  public DispatchingExecutor(ExecutorSettings settings) {
    this.clock = settings.clock();
    this.wakeUp = new DispatchTimer(ClockTimer.of(clock), this::wakeUpDue);
    this.delegate = settings.delegate();
    this.own = settings.own();
    this.parallelism = settings.parallelism();
    this.strictThrottleKeys = settings.strictThrottleKeys();
    this.waiting = new QueuedTasks(settings.maxQueued(), settings.maxQueuedPerKey());
    this.scheduler = new DrrScheduler<>(settings.maxCost(), false);
    this.queue = scheduler.queue("tasks");
    scheduler.advanceTo(clock.nanoTime());
    settings.limits().forEach(scheduler::setLimit);
  }

  @Override
  public <T> CompletableFuture<T> submit(Placement placement, Callable<T> task) {
    Objects.requireNonNull(task, "task");
    FairTask<T> added = new FairTask<>(this, placement, task, null);
    add(added);
    return added.outcome;
  }

  @Override
  public CompletableFuture<Void> submit(Placement placement, Runnable task) {
    Objects.requireNonNull(task, "task");
    Callable<Void> work =
        () -> {
          task.run();
          return null;
        };
    return submit(placement, work);
  }

  @Override
  public void execute(Placement placement, Runnable task) {
    Objects.requireNonNull(task, "task");
    add(new FairTask<Void>(this, placement, null, task));
  }

  private void add(FairTask<?> task) {
    change(
        () -> {
          if (shutdown) {
            throw new RejectedExecutionException("executor is shut down: tenant=" + task.tenant());
          }
          requirePossible(task);
          waiting.requireRoom(task.tenant());
          task.enqueued(queue.enqueue(task, task.placement));
          waiting.add(task);
        });
  }

  private void requirePossible(FairTask<?> task) {
    Optional<String> unknownKey = scheduler.unknownKey(task.placement);
    unknownThrottleKeys += unknownKey.isPresent() ? 1 : 0;
    if (strictThrottleKeys && unknownKey.isPresent()) {
      throw new IllegalArgumentException(
          "throttle key must have a limit: throttleKey=" + unknownKey.get());
    }
    Optional<String> reason = scheduler.whyImpossible(task.placement);
    if (reason.isPresent()) {
      throw impossible(task, reason.get());
    }
  }

  private static RejectedExecutionException impossible(FairTask<?> task, String reason) {
    return new RejectedExecutionException(reason + ", tenant=" + task.tenant());
  }

  /** Takes a task out of its queue; false if it is not in it. */
  boolean withdraw(FairTask<?> task) {
    return input(() -> removeFromQueue(task));
  }

  private boolean removeFromQueue(FairTask<?> task) {
    boolean left = task.removeFromQueue();
    if (left) {
      waiting.remove(task);
    }
    return left;
  }

  private void change(Runnable change) {
    input(
        () -> {
          change.run();
          return true;
        });
  }

  /** Makes a change under the lock, then hands over every task that can run. */
  private <R> R input(Supplier<R> change) {
    boolean nested = handingOver.get() != null;
    R result;
    FairTask<?> first;
    lock.lock();
    try {
      result = change.get();
      first = nested ? null : take();
      endIfDone();
    } finally {
      lock.unlock();
    }
    handOver(first);
    return result;
  }

  /** The next task that can go, confirmed, if a worker is free; else sees to the alarm. */
  private @Nullable FairTask<?> take() {
    while (running < parallelism) {
      Next<FairTask<?>> next = scheduler.next(clock.nanoTime());
      if (next instanceof Next.Offer<FairTask<?>> offer) {
        FairTask<?> task = offer.item();
        if (!task.outcome.isDone()) {
          offer.confirm();
          waiting.remove(task);
          running++;
          return task;
        }
        // Its future was completed in a way that does not come by us, such as completeAsync.
        offer.decline();
        removeFromQueue(task);
      } else if (next instanceof Next.Wait<FairTask<?>> wait) {
        wakeUp.at(wait.untilNanos());
        // A manual clock that passed the instant meanwhile does not look back.
        if (clock.nanoTime() - wait.untilNanos() < 0) {
          return null;
        }
      } else {
        wakeUp.silence();
        return null;
      }
    }
    return null;
  }

  private @Nullable FairTask<?> takeLocked() {
    lock.lock();
    try {
      FairTask<?> task = take();
      endIfDone();
      return task;
    } finally {
      lock.unlock();
    }
  }

  private void wakeUpDue(DispatchTimer.DueTime due) {
    change(() -> wakeUp.wentOff(due));
  }

  private void endIfDone() {
    if (shutdown && !terminated && running == 0 && waiting.isEmpty()) {
      terminated = true;
      wakeUp.silence();
      ended.signalAll();
      if (own != null) {
        own.shutdown();
      }
    }
  }

  /** Hands over a task, and then every other task that can run. */
  private void handOver(@Nullable FairTask<?> first) {
    if (first == null) {
      return;
    }
    handingOver.set(true);
    try {
      for (FairTask<?> task = first; task != null; task = takeLocked()) {
        handOverOne(task);
      }
    } finally {
      handingOver.remove();
    }
  }

  private void handOverOne(FairTask<?> task) {
    DispatchingExecutor.DispatchedTask handed = new DispatchingExecutor.DispatchedTask(task);
    try {
      delegate.execute(handed);
    } catch (Throwable refusal) {
      if (handed.claim()) {
        task.fail(
            new RejectedExecutionException(
                "the delegate refused a task after it took its tokens: tenant=" + task.tenant(),
                refusal));
        end(task);
      } else {
        FairTask.log("the delegate failed after it took a task", refusal);
      }
    }
  }

  private void end(FairTask<?> task) {
    change(() -> free(task));
  }

  private void free(FairTask<?> task) {
    running--;
    task.releaseSlot();
  }

  /** Registers the current thread, which is our own, as one that runs a task. */
  private void begin() {
    Thread thread = Thread.currentThread();
    if (read(() -> busy.add(thread) && interrupting)) {
      thread.interrupt();
    }
  }

  /** Ends {@code task} on a thread of our own and returns the next task of that thread. */
  private @Nullable FairTask<?> endAndTake(FairTask<?> task) {
    FairTask<?> mine;
    FairTask<?> another;
    lock.lock();
    try {
      free(task);
      mine = take();
      another = mine == null ? null : take();
      if (mine == null) {
        busy.remove(Thread.currentThread());
      }
      endIfDone();
    } finally {
      lock.unlock();
    }
    handOver(another);
    return mine;
  }

  @Override
  public void setLimit(String name, Limit limit) {
    Map<FairTask<?>, String> impossible = new LinkedHashMap<>();
    change(
        () -> {
          scheduler.advanceTo(clock.nanoTime());
          scheduler.setLimit(name, limit);
          waiting.forEach(
              task ->
                  scheduler
                      .whyImpossible(task.placement)
                      .ifPresent(reason -> impossible.put(task, reason)));
          impossible.keySet().forEach(this::removeFromQueue);
        });
    impossible.forEach((task, reason) -> task.fail(impossible(task, reason)));
  }

  @Override
  public boolean removeLimit(String name) {
    return input(() -> scheduler.removeLimit(name));
  }

  @Override
  public void setWeight(String tenant, int weight) {
    change(() -> queue.setWeight(tenant, weight));
  }

  @Override
  public void setMaxInFlightPerKey(int limit) {
    change(() -> queue.setMaxInFlightPerKey(limit));
  }

  @Override
  public void setMaxInFlight(String tenant, int limit) {
    change(() -> queue.setMaxInFlight(tenant, limit));
  }

  @Override
  public int queued() {
    return read(waiting::size);
  }

  @Override
  public int running() {
    return read(() -> running);
  }

  @Override
  public Optional<FairnessKeyStats> stats(String tenant) {
    return read(() -> queue.stats(tenant));
  }

  @Override
  public List<LimitStats> limitStats() {
    return read(
        () -> {
          scheduler.advanceTo(clock.nanoTime());
          return scheduler.limitStats();
        });
  }

  @Override
  public long unknownThrottleKeys() {
    return read(() -> unknownThrottleKeys);
  }

  @Override
  public boolean isShutdown() {
    return read(() -> shutdown);
  }

  @Override
  public boolean isTerminated() {
    return read(() -> terminated);
  }

  private <R> R read(Supplier<R> reading) {
    lock.lock();
    try {
      return reading.get();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void shutdown() {
    change(() -> shutdown = true);
  }

  @Override
  public List<Runnable> shutdownNow() {
    List<FairTask<?>> dropped = new ArrayList<>();
    List<Thread> interrupted = new ArrayList<>();
    change(
        () -> {
          shutdown = true;
          interrupting = true;
          interrupted.addAll(busy);
          for (FairTask<?> task = waiting.first(); task != null; task = waiting.first()) {
            removeFromQueue(task);
            dropped.add(task);
          }
        });
    // One that ended its task meanwhile has nothing to do that this could disturb.
    interrupted.forEach(Thread::interrupt);
    dropped.forEach(FairTask::drop);
    return dropped.stream().flatMap(task -> Optional.ofNullable(task.command).stream()).toList();
  }

  @Override
  public boolean awaitTermination(Duration atMost) throws InterruptedException {
    boolean forEver = atMost.compareTo(Limit.MAX_PERIOD) > 0;
    long leftNanos = forEver ? Long.MAX_VALUE : atMost.isNegative() ? 0 : atMost.toNanos();
    lock.lockInterruptibly();
    try {
      while (!terminated) {
        if (leftNanos <= 0) {
          return false;
        }
        leftNanos = ended.awaitNanos(leftNanos);
      }
    } finally {
      lock.unlock();
    }
    return own == null || own.awaitTermination(leftNanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    shutdown();
    boolean interrupted = false;
    boolean over = false;
    while (!over) {
      try {
        over = awaitTermination(Limit.MAX_PERIOD);
      } catch (InterruptedException e) {
        if (!interrupted) {
          interrupted = true;
          shutdownNow();
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return read(
        () ->
            "FairExecutor[queued=%d, running=%d, parallelism=%d]"
                .formatted(waiting.size(), running, parallelism));
  }

  /** The command that the delegate gets. It runs at most once, even if the delegate repeats it. */
  private final class DispatchedTask implements Runnable {
    final FairTask<?> task;
    private final AtomicBoolean claimed = new AtomicBoolean();

    DispatchedTask(FairTask<?> task) {
      this.task = task;
    }

    boolean claim() {
      return claimed.compareAndSet(false, true);
    }

    @Override
    public void run() {
      if (!claim()) {
        return;
      }
      if (own == null) {
        task.run();
        end(task);
        return;
      }
      begin();
      for (FairTask<?> next = task; next != null; next = endAndTake(next)) {
        next.run();
        Thread.interrupted(); // what one task left behind is not for the next
      }
    }
  }
}
