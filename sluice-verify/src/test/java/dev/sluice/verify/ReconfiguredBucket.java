package dev.sluice.verify;

import dev.sluice.Limit;
import java.time.Duration;
import java.util.List;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/** A {@link ClockedBucket} whose limit changes: larger, smaller, faster, slower, another mode. */
@Param(name = "limit", gen = IntGen.class, conf = "0:5")
public abstract class ReconfiguredBucket extends ClockedBucket {
  static final List<Limit> LIMITS =
      List.of(
          new Limit.Balanced(4, 1, Duration.ofNanos(10)),
          new Limit.Balanced(2, 1, Duration.ofNanos(10)),
          new Limit.Balanced(6, 3, Duration.ofNanos(7)),
          new Limit.Manual(3),
          new Limit.Strict(3, Duration.ofNanos(25)),
          new Limit.DenyAll());

  ReconfiguredBucket(Limit limit, long initialTokens, long tickNanos) {
    super(limit, initialTokens, tickNanos);
  }

  @Operation
  public Answer available() {
    return answer(bucket.available());
  }

  @Operation
  public Answer reconfigure(@Param(name = "limit") int limit) {
    bucket.reconfigure(LIMITS.get(limit));
    return answer(0);
  }
}
