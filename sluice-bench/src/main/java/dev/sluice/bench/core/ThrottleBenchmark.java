package dev.sluice.bench.core;

import dev.sluice.Limit;
import dev.sluice.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** A permit for one key of many, and for three at once. Run by {@code ./bench throttle}. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ThrottleBenchmark {
  /** Always enough, so that grants are measured. */
  private static final long PLENTY = 1_000_000_000;

  /** Requests prepared, a power of two: more than the processor's caches hold for 1M keys. */
  private static final int FEW_REQUESTS = 1 << 12;

  private static final int MANY_REQUESTS = 1 << 18;

  private static final int HOT_KEYS = 1_000;

  private static String[] keys(int count) {
    String[] keys = new String[count];
    for (int i = 0; i < count; i++) {
      keys[i] = "tenant:" + i;
    }
    return keys;
  }

  @Benchmark
  public long nanotime() {
    return System.nanoTime();
  }

  /** One key of a hot set, in random order. */
  @State(Scope.Thread)
  public static class OneKey {
    @Param("SLUICE")
    KeyedKind kind;

    String[] requests;
    Predicate<String> limiter;
    int next;

    @Setup
    public void create() {
      limiter = kind.create(PLENTY, Duration.ofSeconds(1));
      String[] keys = keys(HOT_KEYS);
      SplittableRandom random = new SplittableRandom(1);
      requests = new String[FEW_REQUESTS];
      for (int i = 0; i < FEW_REQUESTS; i++) {
        requests[i] = keys[random.nextInt(HOT_KEYS)];
      }
      if (!Arrays.stream(keys).allMatch(limiter)) {
        throw new IllegalStateException("denied");
      }
    }
  }

  @Benchmark
  public boolean oneKey(OneKey state) {
    return state.limiter.test(state.requests[state.next++ & (FEW_REQUESTS - 1)]);
  }

  /** Three random keys, all or nothing. */
  @State(Scope.Thread)
  public static class ThreeKeys {
    @Param("1000")
    int keys;

    List<List<String>> requests;
    Limits throttle;
    int next;
    int mask;

    @Setup
    public void create() {
      throttle = Limits.create();
      String[] all = keys(keys);
      for (String key : all) {
        throttle.set(key, Limit.ofRate((double) PLENTY, (double) PLENTY));
      }
      SplittableRandom random = new SplittableRandom(1);
      int count = keys > HOT_KEYS ? MANY_REQUESTS : FEW_REQUESTS;
      mask = count - 1;
      requests = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        requests.add(
            List.of(
                all[random.nextInt(keys)], all[random.nextInt(keys)], all[random.nextInt(keys)]));
      }
    }
  }

  @Benchmark
  public boolean threeKeys(ThreeKeys state) {
    return state.throttle.tryAcquire(state.requests.get(state.next++ & state.mask));
  }
}
