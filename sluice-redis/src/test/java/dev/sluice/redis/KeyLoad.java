package dev.sluice.redis;

import dev.sluice.testkit.load.LoadThreads;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that ask for one key after the other, all the time. */
final class KeyLoad implements AutoCloseable {
  private final LoadThreads threads = new LoadThreads();
  private final AtomicLong next = new AtomicLong();
  private final List<String> keys;

  KeyLoad(SharedLimits throttle, int threadCount, List<String> keys) {
    this.keys = keys;
    SharedLimits.Blocking blocking = throttle.blocking();
    for (int i = 0; i < threadCount; i++) {
      threads.start(
          0, () -> blocking.tryAcquire(keys.get((int) (next.getAndIncrement() % keys.size()))));
    }
  }

  /** How often each key was asked for. */
  long rounds() {
    return next.get() / keys.size();
  }

  @Override
  public void close() {
    threads.close();
  }
}
