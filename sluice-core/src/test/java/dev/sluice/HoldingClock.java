package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** A clock whose readings stop chosen threads, which may hold the lock of a waiting list. */
final class HoldingClock implements NanoClock {
  final AtomicLong nanos = new AtomicLong();

  /** Lets the thread go on that {@link #hold} stopped. */
  CountDownLatch release = new CountDownLatch(1);

  private CountDownLatch held = new CountDownLatch(1);
  private final CountDownLatch libraryReleased = new CountDownLatch(1);
  private volatile Thread holder;
  private volatile boolean holdsLibrary;
  private final CountDownLatch libraryHeld = new CountDownLatch(1);
  private final AtomicInteger freeReadings = new AtomicInteger();
  private final AtomicInteger holderReadings = new AtomicInteger();

  @Override
  public long nanoTime() {
    Thread reader = Thread.currentThread();
    if (reader == holder && holderReadings.getAndDecrement() <= 0) {
      held.countDown();
      awaitQuietly(release);
    }
    if (holdsLibrary
        && reader.getName().startsWith("sluice-")
        && freeReadings.getAndDecrement() <= 0) {
      libraryHeld.countDown();
      awaitQuietly(libraryReleased);
    }
    return nanos.get();
  }

  /** Stops threads of the library where they read the clock, which they do before they lock. */
  void holdLibrary() {
    holdLibraryAfter(0);
  }

  /** As {@link #holdLibrary}, after so many more readings: the second one of a thread is locked. */
  void holdLibraryAfter(int readings) {
    freeReadings.set(readings);
    holdsLibrary = true;
  }

  void awaitHeldLibrary() {
    awaitQuietly(libraryHeld);
  }

  void releaseLibrary() {
    holdsLibrary = false;
    libraryReleased.countDown();
  }

  /** Returns once another thread holds the lock of {@code bucket}, for which a caller waits. */
  CompletableFuture<Void> hold(TokenBucket bucket) {
    return holdUnderLock(() -> bucket.replenish(1));
  }

  /** As {@link #hold}, at the second reading: the first one of a call is made before it locks. */
  CompletableFuture<Void> holdUnderLock(Runnable call) {
    holderReadings.set(1);
    return hold(call);
  }

  /** Makes {@code call} while the clock shows {@code at}. */
  <T> T at(long at, Supplier<T> call) {
    long before = nanos.getAndSet(at);
    try {
      return call.get();
    } finally {
      nanos.set(before);
    }
  }

  /** Returns once another thread has read the clock in {@code call}. */
  CompletableFuture<Void> hold(Runnable call) {
    held = new CountDownLatch(1);
    release = new CountDownLatch(1);
    CompletableFuture<Void> over =
        Threads.beside(
            () -> {
              holder = Thread.currentThread();
              call.run();
            });
    awaitQuietly(held);
    return over;
  }

  static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
