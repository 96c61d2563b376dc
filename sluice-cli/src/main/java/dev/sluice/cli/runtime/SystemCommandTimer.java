package dev.sluice.cli.runtime;

import dev.sluice.NanoClock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Real time, until the user presses Ctrl-C or closes the output.
 *
 * <p>The JVM ends on Ctrl-C as soon as its shutdown hooks are done. The hook of this class wakes
 * the command and gives it a moment to finish its output.
 */
public final class SystemCommandTimer implements CommandTimer {
  private static final long FINISH_SECONDS = 2;

  private final NanoClock clock = NanoClock.system();
  private final CountDownLatch stopAsked = new CountDownLatch(1);
  private final CountDownLatch done = new CountDownLatch(1);
  private final Thread hook = new Thread(this::askToStop, "sluice-stop");

  public SystemCommandTimer() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  @Override
  public NanoClock clock() {
    return clock;
  }

  @Override
  public boolean sleepUntil(long nanos) {
    try {
      boolean stopped = stopAsked.await(nanos - clock.nanoTime(), TimeUnit.NANOSECONDS);
      return !stopped && !System.out.checkError();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public void close() {
    done.countDown();
    if (stopAsked.getCount() > 0) {
      removeHook();
    }
  }

  private void removeHook() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The JVM is shutting down already, and the hook finds the command done.
    }
  }

  private void askToStop() {
    stopAsked.countDown();
    try {
      boolean unused = done.await(FINISH_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
