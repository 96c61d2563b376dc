package dev.sluice.verify;

import dev.sluice.Limit;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/** A {@link ClockedBucket} that is looked at and filled by hand too. */
@Param(name = "refill", gen = LongGen.class, conf = "1:5")
public abstract class RefilledBucket extends ClockedBucket {

  RefilledBucket(Limit limit, long initialTokens, long tickNanos) {
    super(limit, initialTokens, tickNanos);
  }

  @Operation
  public Answer available() {
    return answer(bucket.available());
  }

  @Operation
  public Answer replenish(@Param(name = "refill") long batches) {
    bucket.replenish(batches * batchTokens());
    return answer(0);
  }

  @Operation
  public Answer reset() {
    bucket.reset();
    return answer(0);
  }
}
