package dev.sluice.bench.core;

import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** One permit from one limiter. Run by {@code ./bench bucket}. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class BucketBenchmark {

  /** The limiter all threads share. */
  @State(Scope.Benchmark)
  public static class Shared {
    @Param("SLUICE")
    LimiterKind kind;

    @Param("true")
    boolean granting;

    Limiter limiter;

    @Setup
    public void create() {
      limiter = kind.create(granting);
      limiter.tryAcquire(0);
    }
  }

  /** Each thread's own time for limiters that are given it. */
  @State(Scope.Thread)
  public static class Ticks {
    long tick;
  }

  @Benchmark
  public boolean tryAcquire(Shared shared, Ticks ticks) {
    return shared.limiter.tryAcquire(ticks.tick++);
  }

  /** Two buckets made one after the other, as neighbours in memory. */
  @State(Scope.Benchmark)
  public static class Neighbours {
    final AtomicInteger next = new AtomicInteger();
    TokenBucket[] buckets;

    @Setup
    public void create() {
      buckets =
          new TokenBucket[] {
            LimiterKind.sluice(true, NanoClock.system()),
            LimiterKind.sluice(true, NanoClock.system())
          };
    }
  }

  /** The thread's own of the two. */
  @State(Scope.Thread)
  public static class Mine {
    TokenBucket bucket;

    @Setup
    public void choose(Neighbours neighbours) {
      bucket = neighbours.buckets[neighbours.next.getAndIncrement() % 2];
    }
  }

  @Benchmark
  public boolean twoBuckets(Mine mine) {
    return mine.bucket.tryAcquire();
  }
}
