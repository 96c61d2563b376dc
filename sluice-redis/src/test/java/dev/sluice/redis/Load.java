package dev.sluice.redis;

import dev.sluice.testkit.Hiccups;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Threads that take tokens of nodes all the time, and note every grant and every slow call. */
final class Load implements AutoCloseable {
  private static final long PAUSE_NANOS = 500_000;
  private static final long SLOW_NANOS = 90_000_000;

  private final List<Thread> threads = new ArrayList<>();
  private final Map<FleetNode.Judge, AtomicLong> grants = new ConcurrentHashMap<>();
  private final Map<FleetNode.Judge, AtomicLong> denials = new ConcurrentHashMap<>();
  private final WindowLog log;
  private final AtomicLong slowest = new AtomicLong();
  private final Queue<Slow> slow = new ConcurrentLinkedQueue<>();
  private volatile boolean paused;
  private volatile boolean stopped;

  /** A call that took long. */
  record Slow(long from, long to) {}

  Load(List<FleetNode> nodes, int threadsEach, WindowLog log) {
    this.log = log;
    for (FleetNode node : nodes) {
      for (int i = 0; i < threadsEach; i++) {
        Thread thread = new Thread(() -> run(node), "load");
        thread.setDaemon(true);
        threads.add(thread);
      }
    }
    threads.forEach(Thread::start);
  }

  private void run(FleetNode node) {
    while (!stopped) {
      if (!paused) {
        long from = System.nanoTime();
        FleetNode.Answer answer = node.take();
        note(from, System.nanoTime());
        count(answer.granted() ? grants : denials, answer.judge());
        if (answer.granted()) {
          log.record(answer);
        }
      }
      LockSupport.parkNanos(this, PAUSE_NANOS);
    }
  }

  private static void count(Map<FleetNode.Judge, AtomicLong> where, FleetNode.Judge judge) {
    where.computeIfAbsent(judge, absent -> new AtomicLong()).incrementAndGet();
  }

  private void note(long from, long to) {
    slowest.accumulateAndGet(to - from, Math::max);
    if (to - from > SLOW_NANOS) {
      slow.add(new Slow(from, to));
    }
  }

  void pause() {
    paused = true;
  }

  void resume() {
    paused = false;
  }

  long granted(FleetNode.Judge judge) {
    AtomicLong count = grants.get(judge);
    return count == null ? 0 : count.get();
  }

  long denied(FleetNode.Judge judge) {
    AtomicLong count = denials.get(judge);
    return count == null ? 0 : count.get();
  }

  long slowestMillis() {
    return slowest.get() / 1_000_000;
  }

  /** The slowest call, less what this machine kept its threads waiting meanwhile. */
  long slowestMillis(Hiccups hiccups) {
    long nanos =
        slow.stream()
            .mapToLong(call -> call.to() - call.from() - hiccups.nanosIn(call.from(), call.to()))
            .max()
            .orElse(Math.min(slowest.get(), SLOW_NANOS));
    return nanos / 1_000_000;
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
