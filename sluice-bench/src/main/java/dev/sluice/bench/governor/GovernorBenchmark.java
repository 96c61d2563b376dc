package dev.sluice.bench.governor;

import com.google.common.util.concurrent.RateLimiter;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import io.github.bucket4j.Bucket;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Decisions of the governor in memory, in real time; run by {@link GovernorSuite}. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class GovernorBenchmark {
  private static final long TOKENS = 1_000;
  private static final long USED = 700;
  private static final int LINE = 1_000;

  /** One in twenty of the highest class, nine of the middle, ten of the last. */
  private static final List<String> CLASSES =
      List.of("P0_clinical", "P1_user", "P2_batch", "P1_user", "P2_batch");

  /**
   * A governor of several models. After every iteration they get a tenth of what was asked for in
   * it, so that however fast the machine is, it is ten times too much.
   */
  @State(Scope.Benchmark)
  public static class Models {
    private static final long PLENTY = 10_000_000;

    @Param("1")
    int models;

    /** How many times too much; 1 for never too much. */
    @Param("10")
    int overload;

    Governor governor;
    TokenRequest[] requests;
    private long asked;
    private long since;
    private double allowed = PLENTY / 100.0;

    @Setup
    public void open() {
      governor = Governor.create(config(overload > 1 ? PLENTY / 100 : PLENTY));
      requests = new TokenRequest[1_000 * models];
      for (int i = 0; i < requests.length; i++) {
        String name = i % 20 == 0 ? CLASSES.get(0) : CLASSES.get(1 + i % 4);
        requests[i] =
            TokenRequest.of("model-" + i % models, TOKENS)
                .withPriorityClass(name)
                .withTenant("tenant-" + i % 7);
      }
    }

    private BudgetConfig config(long perSecond) {
      long each = Math.max(1, perSecond / models);
      Map<String, ModelBudget> budgets = new LinkedHashMap<>();
      for (int i = 0; i < models; i++) {
        // As much at a time as in a hundredth of a second: a burst is no break.
        budgets.put(
            "model-" + i, SeedBudget.budget(60 * TOKENS * each, TOKENS * (1 + each / 100)).build());
      }
      WaitingListConfig rules = WaitingListConfig.builder().maxWaiting(LINE).build();
      return BudgetConfig.builder().models(budgets).waitingList(rules).build();
    }

    private long asked() {
      return governor.blocking().status().models().values().stream()
          .mapToLong(each -> each.counts().totalRequests())
          .sum();
    }

    @Setup(Level.Iteration)
    public void begin() {
      asked = asked();
      since = System.nanoTime();
    }

    @TearDown(Level.Iteration)
    public void tune() {
      if (overload > 1) {
        double perSecond = (asked() - asked) * 1e9 / (System.nanoTime() - since);
        // Half the way, as factors go: what is granted costs more than what is refused, so that
        // the whole way would swing to and fro.
        allowed = Math.sqrt(allowed * perSecond / overload);
        governor.blocking().reload(config((long) allowed));
      }
    }

    @TearDown
    public void close() {
      governor.close();
    }
  }

  /** Where a thread is among the requests. */
  @State(Scope.Thread)
  public static class Caller {
    int next;

    TokenRequest next(Models models) {
      next = next + 1 == models.requests.length ? 0 : next + 1;
      return models.requests[next];
    }
  }

  /** Limiters that have no line, with the same rate. */
  @State(Scope.Benchmark)
  public static class Rivals {
    @Param("100000")
    long allowed;

    Bucket bucket4j;
    RateLimiter guava;

    @Setup
    @SuppressWarnings("UnstableApiUsage")
    public void open() {
      bucket4j =
          Bucket.builder()
              .addLimit(
                  limit ->
                      limit
                          .capacity(TOKENS * allowed)
                          .refillGreedy(TOKENS * allowed, Duration.ofSeconds(1)))
              .withNanosecondPrecision()
              .build();
      guava = RateLimiter.create((double) TOKENS * allowed);
    }
  }

  /**
   * A request is answered, and a grant is settled at once or when its turn has come. Queued
   * requests wait by a future.
   */
  @Benchmark
  @SuppressWarnings("FutureReturnValueIgnored") // it is settled in the callback
  public Object decide(Models models, Caller caller) {
    Governor governor = models.governor;
    TokenDecision outcome = governor.blocking().request(caller.next(models));
    if (outcome instanceof TokenDecision.Granted granted) {
      return governor.blocking().settle(granted.reservation(), USED);
    } else if (outcome instanceof TokenDecision.Queued queued) {
      return governor
          .await(queued.ticket())
          .thenAccept(
              turn -> {
                if (turn.orElseThrow() instanceof TokenDecision.Granted granted) {
                  governor.blocking().settle(granted.reservation(), USED);
                }
              });
    }
    return outcome;
  }

  @Benchmark
  public boolean bucket4j(Rivals rivals) {
    return rivals.bucket4j.tryConsume(TOKENS);
  }

  @Benchmark
  @SuppressWarnings("UnstableApiUsage")
  public boolean guava(Rivals rivals) {
    return rivals.guava.tryAcquire((int) TOKENS);
  }
}
