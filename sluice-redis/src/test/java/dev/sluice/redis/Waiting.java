package dev.sluice.redis;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;

/** Waits for what other threads and processes do. */
final class Waiting {
  private Waiting() {}

  /** Returns once the condition holds. */
  static void until(String what, Duration limit, Callable<Boolean> condition) {
    Awaitility.await(what)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .atMost(limit)
        .until(condition);
  }

  /** Lets so much time pass, which is what the test is about. */
  static void during(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    until("time", time.plusSeconds(5), () -> System.nanoTime() - end >= 0);
  }
}
