package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** Acquires against changes of the limit; the thread that changes it acquires afterwards. */
public class ReconfigureStress {

  /** Two tokens of two; the capacity grows to four. */
  @JCStressTest
  @Outcome(id = "2, 0, 0", expect = ACCEPTABLE, desc = "Two consumed, before or after it grew.")
  @Outcome(id = "0, 1, 1", expect = ACCEPTABLE, desc = "It grew and one was consumed before.")
  @Outcome(id = "2, 1, .*", expect = FORBIDDEN, desc = "A grant was forgotten by the change.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the change.")
  @State
  public static class Grow {
    private final TokenBucket bucket = Buckets.balanced(2, 2);

    @Actor
    public void consume(III_Result r) {
      r.r1 = Buckets.take(bucket, 2);
    }

    @Actor
    public void grow(III_Result r) {
      bucket.reconfigure(Buckets.perSecond(4));
      r.r2 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** Four tokens of four; the capacity shrinks to two. */
  @JCStressTest
  @Outcome(id = "3, 1, 0", expect = ACCEPTABLE, desc = "Three consumed before it shrank.")
  @Outcome(id = "0, 1, 1", expect = ACCEPTABLE, desc = "It shrank first.")
  @Outcome(id = "3, 1, [12]", expect = FORBIDDEN, desc = "A grant was forgotten by the change.")
  @Outcome(id = "0, 1, [23]", expect = FORBIDDEN, desc = "More than the new capacity was kept.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the change.")
  @State
  public static class Shrink {
    private final TokenBucket bucket = Buckets.balanced(4, 4);

    @Actor
    public void consume(III_Result r) {
      r.r1 = Buckets.take(bucket, 3);
    }

    @Actor
    public void shrink(III_Result r) {
      bucket.reconfigure(Buckets.perSecond(2));
      r.r2 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** Three tokens of three; the bucket becomes a manual one of two. */
  @JCStressTest
  @Outcome(id = "2, 1, 0", expect = ACCEPTABLE, desc = "Two consumed before the change.")
  @Outcome(id = "2, 0, 0", expect = ACCEPTABLE, desc = "Two consumed right after the change.")
  @Outcome(id = "0, 1, 1", expect = ACCEPTABLE, desc = "The change and one consumed before.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the change.")
  @State
  public static class ChangeMode {
    private final TokenBucket bucket = Buckets.balanced(3, 3);

    @Actor
    public void consume(III_Result r) {
      r.r1 = Buckets.take(bucket, 2);
    }

    @Actor
    public void change(III_Result r) {
      bucket.reconfigure(new Limit.Manual(2));
      r.r2 = Buckets.take(bucket, 1);
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /** Three tokens of three; one grows the capacity to five and consumes, one shrinks it to two. */
  @JCStressTest
  @Outcome(id = "0, 5, 2", expect = ACCEPTABLE, desc = "It shrank, then it grew.")
  @Outcome(id = "0, 2, 2", expect = ACCEPTABLE, desc = "It grew, then it shrank.")
  @Outcome(id = "3, 2, 0", expect = ACCEPTABLE, desc = "It grew, three were consumed, it shrank.")
  @Outcome(id = ".*, 3, .*", expect = FORBIDDEN, desc = "Both changes were lost.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the changes.")
  @State
  public static class TwoChanges {
    private final TokenBucket bucket = Buckets.balanced(3, 3);

    @Actor
    public void grow(III_Result r) {
      bucket.reconfigure(Buckets.perSecond(5));
      r.r1 = Buckets.take(bucket, 3);
    }

    @Actor
    public void shrink() {
      bucket.reconfigure(Buckets.perSecond(2));
    }

    @Arbiter
    public void left(III_Result r) {
      r.r2 = (int) bucket.limit().capacity();
      r.r3 = (int) bucket.available();
    }
  }

  /** Four tokens of four; the capacity shrinks to two, and two may help with the change. */
  @JCStressTest
  @Outcome(id = "3, 1, 0", expect = ACCEPTABLE, desc = "Three consumed before it shrank.")
  @Outcome(id = "0, 1, 2", expect = ACCEPTABLE, desc = "One consumed, then it shrank.")
  @Outcome(id = "0, 1, 1", expect = ACCEPTABLE, desc = "It shrank, then one was consumed.")
  @Outcome(id = "3, 1, [12]", expect = FORBIDDEN, desc = "A grant was forgotten by the change.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made by the change.")
  @State
  public static class TwoHelpers {
    private final TokenBucket bucket = Buckets.balanced(4, 4);

    @Actor
    public void three(III_Result r) {
      r.r1 = Buckets.take(bucket, 3);
    }

    @Actor
    public void one(III_Result r) {
      r.r2 = Buckets.take(bucket, 1);
    }

    @Actor
    public void shrink() {
      bucket.reconfigure(Buckets.perSecond(2));
    }

    @Arbiter
    public void left(III_Result r) {
      r.r3 = (int) bucket.available();
    }
  }
}
