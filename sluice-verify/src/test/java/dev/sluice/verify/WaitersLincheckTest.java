package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.ManualClock;
import dev.sluice.TokenBucket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Options;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Callers that wait, and leave, while others take and bring tokens. */
class WaitersLincheckTest {
  /*
   * Whether a future is done is no operation here: it completes outside the lock, possibly by
   * another thread and a little after the tokens changed hands. Their new owner is decided before, and
   * cancel reports it: false means that they are the caller's. When all threads have ended, the
   * waiting list must hold exactly the callers whose future is not done.
   *
   * Each thread cancels only its own latest request. Of two threads that cancel the same one, the
   * second may be told false before the first has got as far as marking the future canceled.
   */

  @Param(name = "tokens", gen = LongGen.class, conf = "1:4")
  @Param(name = "capacity", gen = LongGen.class, conf = "1:4")
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class Waiters {
    private static final int MAX_THREADS = 8;

    private final TokenBucket bucket =
        TokenBucket.builder()
            .limit(new Limit.Manual(ManualModel.CAPACITY))
            .initialTokens(ManualModel.INITIAL_TOKENS)
            .clock(ManualClock.create())
            .build();

    private final AtomicReferenceArray<CompletableFuture<Void>> latest =
        new AtomicReferenceArray<>(MAX_THREADS);
    private final List<CompletableFuture<Void>> all = new CopyOnWriteArrayList<>();

    @Operation
    public void consume(@Param(name = "thread") int thread, @Param(name = "tokens") long tokens) {
      CompletableFuture<Void> request = bucket.acquireAsync(tokens);
      latest.set(thread, request);
      all.add(request);
    }

    @Operation
    public @Nullable Boolean cancel(@Param(name = "thread") int thread) {
      CompletableFuture<Void> request = latest.get(thread);
      if (request == null) {
        return null;
      }
      boolean canceled = request.cancel(false);
      if (canceled) {
        latest.set(thread, null);
      }
      return canceled;
    }

    @Operation
    public boolean tryAcquire(@Param(name = "tokens") long tokens) {
      return bucket.tryAcquire(tokens);
    }

    @Operation
    public void replenish(@Param(name = "tokens") long tokens) {
      bucket.replenish(tokens);
    }

    @Operation
    public void reconfigure(@Param(name = "capacity") long capacity) {
      bucket.reconfigure(new Limit.Manual(capacity));
    }

    @Operation
    public long available() {
      return bucket.available();
    }

    @Validate
    public void onlyThoseInLineAreUndone() {
      long undone = all.stream().filter(request -> !request.isDone()).count();
      if (undone != bucket.waiters()) {
        throw new IllegalStateException("undone=" + undone + ", waiting=" + bucket.waiters());
      }
    }
  }

  @Test
  void waiters_areLinearizable() {
    check(Effort.modelChecking());
    check(Effort.stress());
  }

  private static void check(Options<?, ?> options) {
    options
        .sequentialSpecification(ManualModel.class)
        .executionGenerator(WaitersFirst.class)
        .check(Waiters.class);
  }
}
