package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Those who want tokens in the demo. Each acts on one thread at a time and is read by another. */
final class Callers {
  private Callers() {}

  /** What a caller got so far. */
  record Count(long granted, long denied) {
    static final Count NONE = new Count(0, 0);

    Count since(Count earlier) {
      return new Count(granted - earlier.granted, denied - earlier.denied);
    }

    Json json() {
      return Json.object().put("granted", granted).put("denied", denied);
    }
  }

  /** Asks and keeps count. */
  abstract static class Caller implements Runnable {
    final TokenBucket bucket;
    final NanoClock clock;
    private final AtomicLong granted = new AtomicLong();
    private final AtomicLong denied = new AtomicLong();
    private volatile long toldNanos;

    Caller(TokenBucket bucket, NanoClock clock) {
      this.bucket = bucket;
      this.clock = clock;
    }

    /** Asks for one token; returns how long to stay away, 0 if it was granted. */
    final long ask() {
      Decision decision = bucket.decide(1);
      if (decision instanceof Decision.Denied refusal) {
        denied.incrementAndGet();
        toldNanos = refusal.retryAfterNanos();
        return refusal.retryAfterNanos();
      }
      granted(1);
      return 0;
    }

    final void granted(long tokens) {
      granted.addAndGet(tokens);
    }

    final Count count() {
      return new Count(granted.get(), denied.get());
    }

    /** When it was last told to come back; 0 if it never was denied. */
    final long toldNanos() {
      return toldNanos;
    }
  }

  /** Asks now and then; when denied, comes back when told. */
  static final class Polite extends Caller {
    static final Duration PERIOD = Duration.ofMillis(5);
    private static final long PAUSE_NANOS = Duration.ofMillis(250).toNanos();

    private long nextNanos;

    Polite(TokenBucket bucket, NanoClock clock) {
      super(bucket, clock);
      nextNanos = clock.nanoTime();
    }

    @Override
    public void run() {
      if (clock.nanoTime() - nextNanos >= 0) {
        long stayAwayNanos = ask();
        nextNanos = clock.nanoTime() + (stayAwayNanos == 0 ? PAUSE_NANOS : stayAwayNanos);
      }
    }
  }

  /** Asks far too often for half a second, then rests as long. */
  static final class Greedy extends Caller {
    static final Duration PERIOD = Duration.ofMillis(2);
    private static final long STORM_NANOS = Duration.ofMillis(500).toNanos();

    private final long startNanos;

    Greedy(TokenBucket bucket, NanoClock clock, long startNanos) {
      super(bucket, clock);
      this.startNanos = startNanos;
    }

    @Override
    public void run() {
      if ((clock.nanoTime() - startNanos) / STORM_NANOS % 2 == 0) {
        ask();
      }
    }
  }

  /** Wants several tokens and waits in line for them. */
  static final class Patient extends Caller {
    static final Duration PERIOD = Duration.ofMillis(400);
    static final long TOKENS = 5;

    private volatile @Nullable CompletableFuture<Void> grant;

    Patient(TokenBucket bucket, NanoClock clock) {
      super(bucket, clock);
    }

    @Override
    public void run() {
      CompletableFuture<Void> last = grant;
      if (last == null || last.isDone()) {
        CompletableFuture<Void> next = bucket.consume(TOKENS);
        CompletableFuture<Void> unused = next.thenRun(() -> granted(TOKENS));
        grant = next;
      }
    }

    /** Gives up waiting. */
    void leave() {
      CompletableFuture<Void> last = grant;
      if (last != null) {
        last.cancel(true);
      }
    }
  }
}
