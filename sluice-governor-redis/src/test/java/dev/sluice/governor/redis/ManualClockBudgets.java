package dev.sluice.governor.redis;

import static org.awaitility.Awaitility.await;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.internal.store.RedisBudgetStore;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.contract.BudgetFixture;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Budgets on a real Redis; the test advances its clock and the timers of all nodes. */
final class ManualClockBudgets implements BudgetFixture, AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final RedisServer server;
  private final Map<RedisBudgetStore, String> prefixes = new ConcurrentHashMap<>();
  private final ManualTimer timer = new ManualTimer();
  private final Queue<Runnable> delayed = new ConcurrentLinkedQueue<>();
  private volatile boolean delaying;
  private Instant now = Instant.parse("2001-01-01T00:00:00Z");

  ManualClockBudgets() {
    server = RedisServer.builder().clockOffset(Duration.between(Instant.now(), now)).start();
    server.standAt(now);
  }

  @Override
  public BudgetStore open(BudgetConfig config, BudgetListener listener) {
    return open("test-" + NAMES.incrementAndGet() + ":", config, listener);
  }

  private BudgetStore open(String prefix, BudgetConfig config, BudgetListener listener) {
    RedisBudgetStore store =
        (RedisBudgetStore)
            RedisBudgets.builder()
                .url(server.uri())
                .prefix(prefix)
                .timeout(TIMEOUT)
                .timer(timer)
                // No share is reserved for it, so a jump of the clock makes no member absent.
                .outageMode(OutageMode.CLOSED)
                .build()
                .open(config, listener);
    prefixes.put(store, prefix);
    return store;
  }

  @Override
  public BudgetStore join(BudgetStore store, BudgetConfig config) {
    return open(
        Objects.requireNonNull(prefixes.get((RedisBudgetStore) store)),
        config,
        BudgetListener.NONE);
  }

  @Override
  public void advance(Duration time) {
    awaitIdle();
    timer.advance(time.toNanos());
  }

  /** Delays the callbacks of all waiters from now on. */
  void delayCallbacks() {
    delaying = true;
  }

  /** Runs the delayed callbacks. */
  void runCallbacks() {
    delaying = false;
    for (Runnable next = delayed.poll(); next != null; next = delayed.poll()) {
      next.run();
    }
  }

  /** Deletes all data of Redis. */
  void loseData() {
    server.command("FLUSHALL");
  }

  /** Waits until all calls have completed. */
  private void awaitIdle() {
    for (RedisBudgetStore store : prefixes.keySet()) {
      if (!store.isIdle()) {
        await()
            .atMost(TIMEOUT)
            .pollDelay(Duration.ZERO)
            .pollInterval(Duration.ofNanos(100_000))
            .until(store::isIdle);
      }
    }
  }

  @Override
  public void setClock(Duration by) {
    setTime(now.plus(by));
  }

  private void setTime(Instant time) {
    now = time;
    server.standAt(time);
  }

  @Override
  public long nanos() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, now) * 1_000;
  }

  @Override
  public void close() {
    server.close();
  }

  /** The timer of all nodes, which also advances the clock of Redis. */
  private final class ManualTimer implements StoreTimer {
    private final PriorityQueue<Due> due =
        new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
    private long elapsed;
    private long numbers;

    private record Due(long at, long number, Runnable action) {}

    @Override
    public synchronized long nanoTime() {
      return elapsed;
    }

    @Override
    public synchronized void schedule(long nanos, Runnable action) {
      due.add(new Due(elapsed + nanos, numbers++, action));
    }

    @Override
    public void execute(Runnable action) {
      if (delaying) {
        delayed.add(action);
      } else {
        action.run();
      }
    }

    void advance(long nanos) {
      long until = nanoTime() + nanos;
      for (Runnable next = nextBy(until); next != null; next = nextBy(until)) {
        next.run();
        awaitIdle();
      }
    }

    private synchronized @Nullable Runnable nextBy(long until) {
      Due next = due.peek();
      long at = next == null ? until : Math.min(until, Math.max(elapsed, next.at()));
      if (at != elapsed) {
        setTime(now.plusNanos(at - elapsed));
        elapsed = at;
      }
      if (next == null || next.at() > until) {
        return null;
      }
      due.remove();
      return next.action();
    }

    /** Does nothing: other stores continue to use the timer. */
    @Override
    public void close() {}
  }
}
