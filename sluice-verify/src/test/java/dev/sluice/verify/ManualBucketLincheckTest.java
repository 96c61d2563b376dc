package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.ManualClock;
import dev.sluice.TokenBucket;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** A bucket without a clock: linearizable without qualification. */
class ManualBucketLincheckTest {

  /** Everything but waiting. */
  @Param(name = "tokens", gen = LongGen.class, conf = "1:3")
  @Param(name = "capacity", gen = LongGen.class, conf = "1:4")
  public static class Manual {
    final TokenBucket bucket =
        TokenBucket.builder()
            .limit(new Limit.Manual(ManualModel.CAPACITY))
            .initialTokens(ManualModel.INITIAL_TOKENS)
            .clock(ManualClock.create())
            .build();

    @Operation
    public boolean tryAcquire(@Param(name = "tokens") long tokens) {
      return bucket.tryAcquire(tokens);
    }

    @Operation
    public long available() {
      return bucket.available();
    }

    @Operation
    public void replenish(@Param(name = "tokens") long tokens) {
      bucket.replenish(tokens);
    }

    @Operation
    public void reset() {
      bucket.reset();
    }

    @Operation
    public void reconfigure(@Param(name = "capacity") long capacity) {
      bucket.reconfigure(new Limit.Manual(capacity));
    }
  }

  @Test
  void manual_isLinearizable() {
    Effort.modelChecking().sequentialSpecification(ManualModel.class).check(Manual.class);
    Effort.stress().sequentialSpecification(ManualModel.class).check(Manual.class);
  }
}
