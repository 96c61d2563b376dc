package dev.sluice.governor.redis;

import static dev.sluice.testkit.Await.until;

import dev.sluice.governor.spi.StoreTimer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A timer that stops a thread in a method, and delays the callbacks of waiters, on request. */
final class StoppingTimer implements StoreTimer {
  private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
  private final Queue<Runnable> delayed = new ConcurrentLinkedQueue<>();
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final CountDownLatch goesOn = new CountDownLatch(1);
  private final String type;
  private final String method;
  private volatile boolean armed;
  private volatile boolean delaying;

  /** Stops, once armed, the next thread that asks for the time within a method. */
  StoppingTimer(String type, String method) {
    this.type = type;
    this.method = method;
  }

  /** Stops the next thread. */
  void arm() {
    armed = true;
  }

  void awaitStop() throws InterruptedException {
    stopped.await();
  }

  void goOn() {
    goesOn.countDown();
  }

  /** Starts or stops to delay callbacks. */
  void hold(boolean now) {
    delaying = now;
  }

  /** Runs the next delayed callback, but not the callbacks that it causes. */
  void next() {
    until("a callback", () -> !delayed.isEmpty());
    delayed.remove().run();
  }

  @Override
  public long nanoTime() {
    if (armed && isThere()) {
      armed = false;
      stopped.countDown();
      try {
        goesOn.await();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return System.nanoTime();
  }

  private boolean isThere() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames.anyMatch(
                    each ->
                        each.getClassName().endsWith("." + type)
                            && each.getMethodName().equals(method)));
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // no test waits for it
  public void schedule(long nanos, Runnable action) {
    if (!thread.isShutdown()) {
      thread.schedule(action, nanos, TimeUnit.NANOSECONDS);
    }
  }

  @Override
  public void execute(Runnable action) {
    if (delaying) {
      delayed.add(action);
    } else {
      action.run();
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
