package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that ask for one key after the other, all the time. */
final class KeyLoad implements AutoCloseable {
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong next = new AtomicLong();
  private final SharedThrottle.Blocking throttle;
  private final List<String> keys;
  private volatile boolean stopped;

  KeyLoad(SharedThrottle throttle, int threadCount, List<String> keys) {
    this.throttle = throttle.blocking();
    this.keys = keys;
    for (int i = 0; i < threadCount; i++) {
      Thread thread = new Thread(this::run, "key-load");
      thread.setDaemon(true);
      threads.add(thread);
    }
    threads.forEach(Thread::start);
  }

  private void run() {
    while (!stopped) {
      throttle.tryConsume(keys.get((int) (next.getAndIncrement() % keys.size())));
    }
  }

  /** How often each key was asked for. */
  long rounds() {
    return next.get() / keys.size();
  }

  @Override
  public void close() {
    stopped = true;
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
