package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.TokenBucket;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.III_Result;

/** Consumers against consumers. */
public class AcquireStress {

  /** Two want the last token. */
  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "The first got it.")
  @Outcome(id = "0, 1, 0", expect = ACCEPTABLE, desc = "The second got it.")
  @Outcome(id = "1, 1, 0", expect = FORBIDDEN, desc = "One token, granted twice.")
  @Outcome(id = "0, 0, 1", expect = FORBIDDEN, desc = "Both denied though one was there.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made.")
  @State
  public static class LastToken {
    private final TokenBucket bucket = Buckets.balanced(2, 1);

    @Actor
    public void first(III_Result r) {
      r.r1 = Buckets.take(bucket, 1);
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** Three want one each of the last two tokens. */
  @JCStressTest
  @Outcome(id = "1, 1, 0, 0", expect = ACCEPTABLE, desc = "The third came last.")
  @Outcome(id = "1, 0, 1, 0", expect = ACCEPTABLE, desc = "The second came last.")
  @Outcome(id = "0, 1, 1, 0", expect = ACCEPTABLE, desc = "The first came last.")
  @Outcome(id = "1, 1, 1, 0", expect = FORBIDDEN, desc = "Two tokens, three grants.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made, or denied though there.")
  @State
  public static class LastTwoTokens {
    private final TokenBucket bucket = Buckets.balanced(4, 2);

    @Actor
    public void first(IIII_Result r) {
      r.r1 = Buckets.take(bucket, 1);
    }

    @Actor
    public void second(IIII_Result r) {
      r.r2 = Buckets.take(bucket, 1);
    }

    @Actor
    public void third(IIII_Result r) {
      r.r3 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(IIII_Result r) {
      r.r4 = (int) bucket.available();
    }
  }

  /** Three tokens: two want two each, one wants one. All or nothing, so it always gets its one. */
  @JCStressTest
  @Outcome(id = "2, 0, 1, 0", expect = ACCEPTABLE, desc = "The first pair went to the first.")
  @Outcome(id = "0, 2, 1, 0", expect = ACCEPTABLE, desc = "The first pair went to the second.")
  @Outcome(id = "2, 2, .*", expect = FORBIDDEN, desc = "Three tokens, four granted.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made, or denied though there.")
  @State
  public static class DifferentWeights {
    private final TokenBucket bucket = Buckets.balanced(3, 3);

    @Actor
    public void first(IIII_Result r) {
      r.r1 = Buckets.take(bucket, 2);
    }

    @Actor
    public void second(IIII_Result r) {
      r.r2 = Buckets.take(bucket, 2);
    }

    @Actor
    public void third(IIII_Result r) {
      r.r3 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(IIII_Result r) {
      r.r4 = (int) bucket.available();
    }
  }
}
