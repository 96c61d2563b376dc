package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.TokenBucket;
import java.util.concurrent.CompletableFuture;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** Waiters are granted or canceled, never both, and no token is lost. */
public class WaiterStress {

  /** A request for one is canceled while one token arrives. */
  @JCStressTest
  @Outcome(id = "true, false, 1", expect = ACCEPTABLE, desc = "Canceled; the token is there.")
  @Outcome(id = "false, true, 0", expect = ACCEPTABLE, desc = "Granted; the token is taken.")
  @Outcome(id = "true, true, .*", expect = FORBIDDEN, desc = "Canceled and granted.")
  @Outcome(id = "false, false, .*", expect = FORBIDDEN, desc = "Neither: the caller is forgotten.")
  @Outcome(expect = FORBIDDEN, desc = "The token was lost or doubled.")
  @State
  public static class CancelOrGrant {
    private final TokenBucket bucket = Buckets.manual(2, 0);
    private final CompletableFuture<Void> request = bucket.acquireAsync(1);

    @Actor
    public void cancel(ZZI_Result r) {
      r.r1 = request.cancel(false);
    }

    @Actor
    public void replenish() {
      bucket.replenish(1);
    }

    @Arbiter
    public void left(ZZI_Result r) {
      r.r2 = Buckets.isGranted(request);
      r.r3 = (int) bucket.available();
    }
  }

  /** The first in line, for two, is canceled while its second token arrives; one waits behind. */
  @JCStressTest
  @Outcome(id = "true, true, 1", expect = ACCEPTABLE, desc = "Canceled: the next is served.")
  @Outcome(id = "false, false, 0", expect = ACCEPTABLE, desc = "Granted: the next waits on.")
  @Outcome(id = "true, false, .*", expect = FORBIDDEN, desc = "Canceled, but the next sleeps on.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens lost or made, or handed out twice.")
  @State
  public static class CancelHead {
    private final TokenBucket bucket = Buckets.manual(2, 1);
    private final CompletableFuture<Void> head = bucket.acquireAsync(2);
    private final CompletableFuture<Void> next = bucket.acquireAsync(1);

    @Actor
    public void cancel(ZZI_Result r) {
      r.r1 = head.cancel(false);
    }

    @Actor
    public void replenish() {
      bucket.replenish(1);
    }

    @Arbiter
    public void left(ZZI_Result r) {
      r.r2 = Buckets.isGranted(next);
      r.r3 = (int) bucket.available();
    }
  }

  /** A request that holds back one token is canceled; a caller that does not wait may take it. */
  @JCStressTest
  @Outcome(id = "true, true, 0", expect = ACCEPTABLE, desc = "Canceled, then consumed.")
  @Outcome(id = "true, false, 1", expect = ACCEPTABLE, desc = "Denied, then canceled.")
  @Outcome(id = "false, .*, .*", expect = FORBIDDEN, desc = "Granted what was never there.")
  @Outcome(expect = FORBIDDEN, desc = "The token was lost or doubled.")
  @State
  public static class CancelOrConsume {
    private final TokenBucket bucket = Buckets.manual(2, 1);
    private final CompletableFuture<Void> request = bucket.acquireAsync(2);

    @Actor
    public void cancel(ZZI_Result r) {
      r.r1 = request.cancel(false);
    }

    @Actor
    public void consume(ZZI_Result r) {
      r.r2 = bucket.tryAcquire(1);
    }

    @Arbiter
    public void left(ZZI_Result r) {
      r.r3 = (int) bucket.available();
    }
  }

  /**
   * A bucket of two has a token: a caller waits for two, another tries one. Then a token arrives.
   */
  @JCStressTest
  @Outcome(
      id = "true, false, 1",
      expect = ACCEPTABLE,
      desc = "Consumed first: one is missing still.")
  @Outcome(id = "false, true, 0", expect = ACCEPTABLE, desc = "In line first: both are there now.")
  @Outcome(id = "true, true, .*", expect = FORBIDDEN, desc = "Two tokens, three granted.")
  @Outcome(id = "false, false, .*", expect = FORBIDDEN, desc = "A token was lost.")
  @Outcome(expect = FORBIDDEN, desc = "Granted and in line, or neither.")
  @State
  public static class WaitOrConsume {
    private final TokenBucket bucket = Buckets.manual(2, 1);
    private CompletableFuture<Void> request;

    @Actor
    public void await() {
      request = bucket.acquireAsync(2);
    }

    @Actor
    public void consume(ZZI_Result r) {
      r.r1 = bucket.tryAcquire(1);
    }

    @Arbiter
    public void left(ZZI_Result r) {
      bucket.replenish(1);
      r.r3 = bucket.waiters();
      r.r2 = Buckets.isGranted(request);
    }
  }

  /** Two cancel the same request. */
  @JCStressTest
  @Outcome(id = "true, true, 1", expect = ACCEPTABLE, desc = "Both are told that it is canceled.")
  @Outcome(
      id = {"true, false, 1", "false, true, 1"},
      expect = ACCEPTABLE_INTERESTING,
      desc = "One left the line but has not marked the future yet; Future.cancel allows it.")
  @Outcome(id = "false, false, .*", expect = FORBIDDEN, desc = "Nobody canceled it.")
  @Outcome(expect = FORBIDDEN, desc = "The token was lost or doubled.")
  @State
  public static class CancelTwice {
    private final TokenBucket bucket = Buckets.manual(2, 1);
    private final CompletableFuture<Void> request = bucket.acquireAsync(2);

    @Actor
    public void first(ZZI_Result r) {
      r.r1 = request.cancel(false);
    }

    @Actor
    public void second(ZZI_Result r) {
      r.r2 = request.cancel(false);
    }

    @Arbiter
    public void left(ZZI_Result r) {
      r.r3 = (int) bucket.available();
    }
  }
}
