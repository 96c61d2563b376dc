package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Consumers while the bucket moves its epoch.
 *
 * <p>The rate shares no factor with a second, so an epoch ends after 19.2 minutes.
 */
public class EpochStress {
  private static final int RATE = 999_983;

  /** Ten minutes' worth. */
  private static final int BATCH = 600 * RATE;

  private static Limit limit(long capacity) {
    return new Limit.Balanced(capacity, RATE, Duration.ofSeconds(1));
  }

  private static long minutes(long minutes) {
    return Duration.ofMinutes(minutes).toNanos();
  }

  /** Both want everything, and both find the epoch over. */
  @JCStressTest
  @Outcome(id = "2, 0, 0", expect = ACCEPTABLE, desc = "The first got it.")
  @Outcome(id = "0, 2, 0", expect = ACCEPTABLE, desc = "The second got it.")
  @Outcome(id = "2, 2, .*", expect = FORBIDDEN, desc = "Granted once in each epoch.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the move.")
  @State
  public static class BothMove {
    private static final long NOW = minutes(30);

    private final TokenBucket bucket = Buckets.of(limit(2), 0);

    @Actor
    public void first(III_Result r) {
      r.r1 = bucket.tryAcquire(2, NOW) ? 2 : 0;
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = bucket.tryAcquire(2, NOW) ? 2 : 0;
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available(NOW);
    }
  }

  /**
   * A caller acquires before the end of the epoch, another after it; the debt must survive the
   * move.
   */
  @JCStressTest
  @Outcome(id = "2, 0, 1", expect = ACCEPTABLE, desc = "In the old epoch, and it was carried over.")
  @Outcome(id = "0, 2, 1", expect = ACCEPTABLE, desc = "In the new epoch, the other came late.")
  @Outcome(id = "2, 2, .*", expect = FORBIDDEN, desc = "The debt was forgotten.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the move.")
  @State
  public static class OneMoves {
    private static final long BEFORE = minutes(19);
    private static final long AFTER = minutes(20);

    private final TokenBucket bucket = Buckets.of(limit(3L * BATCH), BATCH);

    @Actor
    public void before(III_Result r) {
      r.r1 = bucket.tryAcquire(2L * BATCH, BEFORE) ? 2 : 0;
    }

    @Actor
    public void after(III_Result r) {
      r.r2 = bucket.tryAcquire(2L * BATCH, AFTER) ? 2 : 0;
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) (bucket.available(AFTER) / BATCH);
    }
  }
}
