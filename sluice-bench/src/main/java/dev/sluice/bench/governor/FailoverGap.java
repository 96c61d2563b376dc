package dev.sluice.bench.governor;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * How long it takes from when a Redis that was killed under load answers again until it grants
 * again, by its own time.
 */
final class FailoverGap implements BudgetListener {
  private static final int CALLERS = 16;
  private static final long PAUSE_NANOS = 1_000_000;
  private static final Duration AWAY = Duration.ofSeconds(1);
  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** In microseconds of Redis; no grant before it counts. */
  private final AtomicLong from = new AtomicLong(Long.MAX_VALUE);

  private final AtomicLong first = new AtomicLong(Long.MAX_VALUE);
  private volatile CountDownLatch granted = new CountDownLatch(1);
  private volatile boolean stopped;

  private FailoverGap() {}

  /** In milliseconds, so many times. */
  static double[] millis(int times) throws InterruptedException {
    return new FailoverGap().measure(times);
  }

  private double[] measure(int times) throws InterruptedException {
    List<Thread> callers = new ArrayList<>();
    double[] gaps = new double[times];
    try (RedisServer server = RedisServer.builder().data().start();
        SharedGovernor governor = new SharedGovernor(server.uri(), "failover:", this)) {
      for (int i = 0; i < CALLERS; i++) {
        callers.add(new Thread(() -> ask(governor), "caller"));
      }
      callers.forEach(Thread::start);
      for (int i = 0; i < times; i++) {
        gaps[i] = gap(server);
      }
      stopped = true;
      for (Thread caller : callers) {
        caller.join();
      }
    } finally {
      stopped = true;
    }
    return gaps;
  }

  private double gap(RedisServer server) throws InterruptedException {
    awaitGrant(server.micros());
    server.kill();
    Thread.sleep(AWAY.toMillis());
    server.restart();
    long back = server.micros();
    awaitGrant(back);
    return (first.get() - back) / 1e3;
  }

  /** Until there is one from that microsecond on. */
  private void awaitGrant(long micros) throws InterruptedException {
    granted = new CountDownLatch(1);
    first.set(Long.MAX_VALUE);
    from.set(micros);
    if (!granted.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
      throw new IllegalStateException("no grant within " + LIMIT);
    }
    from.set(Long.MAX_VALUE);
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    long micros = TimeUnit.NANOSECONDS.toMicros(nanos);
    if (micros >= from.get() && first.compareAndSet(Long.MAX_VALUE, micros)) {
      granted.countDown();
    }
  }

  private void ask(SharedGovernor governor) {
    while (!stopped) {
      if (!isGranted(governor)) {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private static boolean isGranted(SharedGovernor governor) {
    try {
      return governor.grantAndSettle();
    } catch (RuntimeException away) {
      return false;
    }
  }
}
