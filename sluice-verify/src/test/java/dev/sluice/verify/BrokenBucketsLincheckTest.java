package dev.sluice.verify;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.verify.ClockVerifier.Exact;
import dev.sluice.verify.ClockVerifier.NeverMore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the tests: with the default effort they find what is wrong with a broken bucket. */
@Tag("long")
class BrokenBucketsLincheckTest {
  private static final Limit LIMIT = new Limit.Balanced(3, 1, Duration.ofNanos(10));

  /** A write between another's read and write is lost. */
  public static class LosesUpdates extends ClockedBucket {
    public LosesUpdates() {
      super(LIMIT, 2, 4, BrokenBuckets.LosesUpdates::new);
    }
  }

  /** Fills the bucket on a stale reading. */
  public static class MintsOnLateReadings extends ClockedBucket {
    public MintsOnLateReadings() {
      super(LIMIT, 2, 4, BrokenBuckets.MintsOnLateReadings::new);
    }
  }

  /** A grant during a change is forgotten. */
  @Param(name = "limit", gen = IntGen.class, conf = "0:1")
  public static class ForgetsGrantsOnChange extends ClockedBucket {
    public ForgetsGrantsOnChange() {
      super(ReconfiguredBucket.LIMITS.get(0), 2, 4, BrokenBuckets.ForgetsGrantsOnChange::new);
    }

    @Operation
    public Answer reconfigure(@Param(name = "limit") int limit) {
      bucket.reconfigure(ReconfiguredBucket.LIMITS.get(limit));
      return answer(0);
    }
  }

  /** A request may be canceled, and its tokens returned, after it was granted. */
  @Param(name = "tokens", gen = LongGen.class, conf = "1:4")
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class CancelsTheGranted {
    private record Request(Object identity, long tokens) {}

    private static final int MAX_THREADS = 8;

    private final AtomicReferenceArray<Request> latest = new AtomicReferenceArray<>(MAX_THREADS);
    private final List<Request> line = new CopyOnWriteArrayList<>();
    private long tokens = ManualModel.INITIAL_TOKENS;

    @Operation
    public synchronized void consume(
        @Param(name = "thread") int thread, @Param(name = "tokens") long wanted) {
      Request request = new Request(new Object(), wanted);
      latest.set(thread, request);
      line.add(request);
      add(-wanted);
    }

    @Operation
    public @Nullable Boolean cancel(@Param(name = "thread") int thread) {
      Request request = latest.get(thread);
      if (request == null || !line.contains(request)) { // the mistake: looks without the lock
        return request == null ? null : false;
      }
      synchronized (this) {
        line.remove(request);
        latest.set(thread, null);
        add(request.tokens);
      }
      return true;
    }

    @Operation
    public synchronized void replenish(@Param(name = "tokens") long added) {
      add(added);
    }

    @Operation
    public synchronized long available() {
      return Math.max(0, tokens);
    }

    private void add(long added) {
      tokens = Math.min(ManualModel.CAPACITY, tokens + added);
      long owedBehind = line.stream().mapToLong(Request::tokens).sum();
      while (!line.isEmpty()) {
        owedBehind -= line.get(0).tokens;
        if (tokens + owedBehind < 0) {
          return;
        }
        line.remove(0);
      }
    }
  }

  @Test
  void lostUpdates_areFound() {
    assertFound(LosesUpdates.class, options().verifier(Exact.class));
    assertFound(LosesUpdates.class, options().verifier(NeverMore.class));
  }

  @Test
  void mintingOnStaleReadings_isFound() {
    assertFound(MintsOnLateReadings.class, options().verifier(Exact.class));
    assertFound(MintsOnLateReadings.class, options().verifier(NeverMore.class));
  }

  @Test
  void grantsForgottenByAChange_areFound() {
    assertFound(ForgetsGrantsOnChange.class, options().verifier(Exact.class));
  }

  @Test
  void cancelOfAGrantedWaiter_isFound() {
    assertFound(
        CancelsTheGranted.class,
        options()
            .sequentialSpecification(ManualModel.class)
            .executionGenerator(WaitersFirst.class));
  }

  private static ModelCheckingOptions options() {
    // Ends with the first violation, so that the numbers only bound how long it may take.
    return Effort.modelChecking()
        .iterations(100)
        .invocationsPerIteration(300)
        .minimizeFailedScenario(false);
  }

  private static void assertFound(Class<?> scenario, ModelCheckingOptions options) {
    assertThatThrownBy(() -> options.check(scenario))
        .isInstanceOf(LincheckAssertionError.class)
        .hasMessageContaining("Invalid execution results");
  }
}
