package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.TokenBucket;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Callers that acquire tokens against callers that add tokens. */
public class RefillStress {

  /** A bucket of two has a token; a caller tries one and then two, while the bucket is reset. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = ACCEPTABLE, desc = "Reset first.")
  @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "Reset between the two.")
  @Outcome(id = "1, 0, 2", expect = ACCEPTABLE, desc = "Reset last.")
  @Outcome(id = "1, 2, [12]", expect = FORBIDDEN, desc = "A grant was lost in the reset.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made, or denied though there.")
  @State
  public static class Reset {
    private final TokenBucket bucket = Buckets.balanced(2, 1);

    @Actor
    public void consume(III_Result r) {
      r.r1 = Buckets.take(bucket, 1);
      r.r2 = Buckets.take(bucket, 2);
    }

    @Actor
    public void reset() {
      bucket.reset();
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** A token is available and two arrive; a caller tries two, and two again. */
  @JCStressTest
  @Outcome(id = "2, 0, 1", expect = ACCEPTABLE, desc = "They arrived first.")
  @Outcome(id = "0, 2, 1", expect = ACCEPTABLE, desc = "They arrived between the two.")
  @Outcome(id = "0, 0, 3", expect = ACCEPTABLE, desc = "They arrived last.")
  @Outcome(id = "2, 2, .*", expect = FORBIDDEN, desc = "Three tokens, four granted.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made.")
  @State
  public static class Replenish {
    private final TokenBucket bucket = Buckets.balanced(3, 1);

    @Actor
    public void consume(III_Result r) {
      r.r1 = Buckets.take(bucket, 2);
      r.r2 = Buckets.take(bucket, 2);
    }

    @Actor
    public void replenish() {
      bucket.replenish(2);
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** A full bucket overflows, unless a token is taken first. */
  @JCStressTest
  @Outcome(id = "1, 2", expect = ACCEPTABLE, desc = "Taken, then replaced.")
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "Overflowed, then taken.")
  @Outcome(id = "0, .*", expect = FORBIDDEN, desc = "Denied by a full bucket.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made.")
  @State
  public static class Overflow {
    private final TokenBucket bucket = Buckets.balanced(2, 2);

    @Actor
    public void consume(II_Result r) {
      r.r1 = Buckets.take(bucket, 1);
    }

    @Actor
    public void replenish() {
      bucket.replenish(1);
    }

    @Arbiter
    public void left(II_Result r) {
      r.r2 = (int) bucket.available();
    }
  }
}
