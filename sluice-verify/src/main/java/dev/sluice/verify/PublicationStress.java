package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.TokenBucket;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A bucket that is half full, handed to another thread through a plain field.
 *
 * <p>The language promises the other thread the final fields only. The state of a bucket cannot be
 * final, and its default value, zero, means full: so a bucket must be published safely. HotSpot
 * does more than is promised: it orders all of a constructor's stores before the publication if the
 * class has a final field. The outcomes marked as interesting tell whether that holds here.
 */
@JCStressTest
@Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "Not published yet.")
@Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "One of two tokens is there, as it was made.")
@Outcome(
    id = {"2, 2", "2, 0", "1, 2"},
    expect = ACCEPTABLE_INTERESTING,
    desc = "Seen full: the initial fill is no final field.")
@Outcome(
    id = "-2, -2",
    expect = ACCEPTABLE_INTERESTING,
    desc = "Seen without its cell, which is no final field either.")
@Outcome(expect = FORBIDDEN, desc = "No state that was ever written.")
@State
public class PublicationStress {
  private TokenBucket shared;

  @Actor
  public void publish() {
    shared = Buckets.balanced(2, 1);
  }

  @Actor
  public void use(II_Result r) {
    TokenBucket bucket = shared;
    if (bucket == null) {
      r.r1 = -1;
      r.r2 = -1;
      return;
    }
    try {
      r.r1 = (int) bucket.available();
      r.r2 = Buckets.take(bucket, 2);
    } catch (NullPointerException e) {
      r.r1 = -2;
      r.r2 = -2;
    }
  }
}
