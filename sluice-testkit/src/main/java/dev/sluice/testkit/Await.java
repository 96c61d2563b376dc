package dev.sluice.testkit;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Waits for what other threads and processes do: looks at once, then every few milliseconds.
 *
 * @since 0.1
 */
public final class Await {
  private static final Duration POLL = Duration.ofMillis(2);
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private Await() {}

  /**
   * Returns once the condition holds.
   *
   * @throws ConditionTimeoutException if it does not hold within a minute
   */
  public static void until(String what, Callable<Boolean> condition) {
    until(what, PATIENCE, condition);
  }

  /**
   * Returns once the condition holds.
   *
   * @throws ConditionTimeoutException if it does not hold within {@code limit}
   */
  public static void until(String what, Duration limit, Callable<Boolean> condition) {
    await(what, limit).until(condition);
  }

  /**
   * Returns once the condition holds. It is asked by the calling thread, which may hold locks, and
   * so it must not block.
   *
   * @param what describes what is awaited, as it is when the limit has passed
   * @throws ConditionTimeoutException if it does not hold within {@code limit}
   */
  public static void until(Supplier<String> what, Duration limit, Callable<Boolean> condition) {
    try {
      await("the condition", limit).pollInSameThread().until(condition);
    } catch (ConditionTimeoutException e) {
      throw new ConditionTimeoutException("not within " + limit + ": " + what.get(), e);
    }
  }

  private static ConditionFactory await(String what, Duration limit) {
    return Awaitility.await(what).pollDelay(Duration.ZERO).pollInterval(POLL).atMost(limit);
  }

  /** Lets time pass where that is the point of a test. */
  public static void during(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    until("time", time.plus(PATIENCE), () -> System.nanoTime() - end >= 0);
  }
}
