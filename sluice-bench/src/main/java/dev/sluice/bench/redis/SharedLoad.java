package dev.sluice.bench.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/** Threads that ask a limiter for one token after another, each waiting for its answer. */
public final class SharedLoad {
  /** For answers after the end, which count as failed if there are none by then. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** One call; each thread has its own. */
  @FunctionalInterface
  public interface Call {
    boolean tryConsume() throws Exception;
  }

  /**
   * The result of a load.
   *
   * @param perSecond granted in the time that is measured
   * @param latency of all calls that were granted in that time or later, in nanoseconds
   * @param refused calls that were answered with no
   * @param failed calls that threw or had no answer
   * @param failure the first of these, or an empty text
   * @param logs when tokens were granted, if asked for
   */
  public record Outcome(
      double perSecond,
      Histogram latency,
      long refused,
      long failed,
      String failure,
      List<GrantLog> logs) {

    public double micros(double percentile) {
      return latency.getValueAtPercentile(percentile) / 1e3;
    }
  }

  private final CountDownLatch started = new CountDownLatch(1);
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final List<Caller> callers = new ArrayList<>();
  private final boolean logged;
  private final Duration measured;
  private volatile long start;
  private volatile long from;
  private volatile long until;

  private SharedLoad(boolean logged, Duration measured) {
    this.logged = logged;
    this.measured = measured;
  }

  /** Measures after a lead-in, with a thread for every call. */
  public static Outcome measure(List<Call> calls, Duration leadIn, Duration measured)
      throws InterruptedException {
    return new SharedLoad(false, measured).run(calls, leadIn);
  }

  /** The same, and remembers when tokens were granted, from the first call on. */
  static Outcome measureLogged(List<Call> calls, Duration leadIn, Duration measured)
      throws InterruptedException {
    return new SharedLoad(true, measured).run(calls, leadIn);
  }

  /** Returns {@code count} calls, each made by {@code each}. */
  public static List<Call> calls(int count, Supplier<Call> each) {
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      calls.add(each.get());
    }
    return calls;
  }

  private Outcome run(List<Call> calls, Duration leadIn) throws InterruptedException {
    calls.forEach(call -> callers.add(new Caller(call)));
    callers.forEach(Thread::start);
    start = System.nanoTime();
    from = start + leadIn.toNanos();
    until = from + measured.toNanos();
    started.countDown();
    long end = until + PATIENCE.toNanos();
    List<Caller> returned = new ArrayList<>();
    for (Caller caller : callers) {
      caller.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
      if (!caller.isAlive()) {
        returned.add(caller);
      }
    }
    return outcome(returned);
  }

  private Outcome outcome(List<Caller> returned) {
    Histogram latency = new Histogram(LONGEST_NANOS, 3);
    returned.forEach(caller -> latency.add(caller.latency));
    int stuck = callers.size() - returned.size();
    return new Outcome(
        returned.stream().mapToLong(caller -> caller.granted).sum() * 1e9 / measured.toNanos(),
        latency,
        returned.stream().mapToLong(caller -> caller.refused).sum(),
        stuck + returned.stream().mapToLong(caller -> caller.failed).sum(),
        stuck > 0 ? "no answer after " + PATIENCE : text(failure.get()),
        returned.stream().map(caller -> caller.log).toList());
  }

  private static String text(Throwable thrown) {
    return thrown == null ? "" : thrown.toString();
  }

  private final class Caller extends Thread {
    private final Call call;
    private final Histogram latency = new Histogram(LONGEST_NANOS, 2);
    private GrantLog log;
    private long granted;
    private long refused;
    private long failed;

    Caller(Call call) {
      super("caller");
      this.call = call;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        started.await();
      } catch (InterruptedException e) {
        return;
      }
      log = new GrantLog(start);
      long first = from;
      long last = until;
      long before = System.nanoTime();
      while (last - before > 0) {
        boolean yes = ask();
        long after = System.nanoTime();
        if (yes && logged) {
          log.granted(before, after);
        }
        if (yes && after - first >= 0) {
          latency.recordValue(Math.min(after - before, LONGEST_NANOS));
          granted += last - after > 0 ? 1 : 0;
        }
        before = after;
      }
    }

    private boolean ask() {
      try {
        boolean yes = call.tryConsume();
        refused += yes ? 0 : 1;
        return yes;
      } catch (Exception e) {
        failure.compareAndSet(null, e);
        failed++;
        return false;
      }
    }
  }
}
