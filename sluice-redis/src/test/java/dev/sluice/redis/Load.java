package dev.sluice.redis;

import dev.sluice.testkit.load.Hiccups;
import dev.sluice.testkit.load.LoadThreads;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that take tokens of nodes all the time, and note every grant and every slow call. */
final class Load implements AutoCloseable {
  private static final long PAUSE_NANOS = 500_000;

  private final LoadThreads threads = new LoadThreads();
  private final Map<FleetNode.Judge, AtomicLong> grants = new ConcurrentHashMap<>();
  private final Map<FleetNode.Judge, AtomicLong> denials = new ConcurrentHashMap<>();
  private final WindowLog log;
  private volatile boolean paused;

  Load(List<FleetNode> nodes, int threadsEach, WindowLog log) {
    this.log = log;
    for (FleetNode node : nodes) {
      for (int i = 0; i < threadsEach; i++) {
        threads.start(PAUSE_NANOS, () -> take(node));
      }
    }
  }

  private void take(FleetNode node) {
    if (!paused) {
      FleetNode.Answer answer = threads.timed(node::take);
      count(answer.granted() ? grants : denials, answer.judge());
      if (answer.granted()) {
        log.record(answer);
      }
    }
  }

  private static void count(Map<FleetNode.Judge, AtomicLong> where, FleetNode.Judge judge) {
    where.computeIfAbsent(judge, absent -> new AtomicLong()).incrementAndGet();
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
    return threads.slowestMillis();
  }

  long slowestMillis(Hiccups hiccups) {
    return threads.slowestMillis(hiccups);
  }

  @Override
  public void close() {
    threads.close();
  }
}
