package dev.sluice.verify;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.sluice.TokenBucket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;

/** Callers that join the waiting list together: none is lost, and none gets another's tokens. */
public class ArrivalStress {

  /** A token is available: a caller waits for two, another for one and then does not wait. */
  @JCStressTest
  @Outcome(id = "3, 0", expect = ACCEPTABLE, desc = "All three tokens went to somebody.")
  @Outcome(id = "2, 1", expect = ACCEPTABLE, desc = "The large request is behind the small ones.")
  @Outcome(expect = FORBIDDEN, desc = "Tokens were lost or doubled.")
  @State
  public static class JoinTogether {
    private final TokenBucket bucket = Buckets.manual(3, 1);
    private CompletableFuture<Void> large;
    private CompletableFuture<Void> small;
    private boolean consumed;

    @Actor
    public void joinForTwo() {
      large = bucket.acquireAsync(2);
    }

    @Actor
    public void joinForOneAndConsume() {
      small = bucket.acquireAsync(1);
      consumed = bucket.tryAcquire(1);
    }

    @Arbiter
    public void left(II_Result r) {
      bucket.replenish(2);
      r.r1 = Buckets.isGranted(large) ? 2 : 0;
      r.r1 += Buckets.isGranted(small) ? 1 : 0;
      r.r1 += consumed ? 1 : 0;
      r.r2 = (int) bucket.available();
    }
  }

  /** A caller is denied, which empties the waiting list, while another arrives to wait. */
  @JCStressTest
  @Outcome(id = "true, 0", expect = ACCEPTABLE, desc = "The one that waits is served.")
  @Outcome(expect = FORBIDDEN, desc = "The caller was forgotten, or a token lost or doubled.")
  @State
  public static class JoinOrRefuse {
    private final TokenBucket bucket = Buckets.manual(3, 1);
    private CompletableFuture<Boolean> refused;
    private CompletableFuture<Void> request;

    @Actor
    public void refuse() {
      refused = bucket.acquireAsync(3, Duration.ZERO);
    }

    @Actor
    public void join() {
      request = bucket.acquireAsync(2);
    }

    @Arbiter
    public void left(ZI_Result r) {
      bucket.replenish(1);
      r.r1 = Buckets.isGranted(request) && !refused.getNow(true);
      r.r2 = (int) bucket.available();
    }
  }
}
