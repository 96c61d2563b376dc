package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The boolean paths allocate nothing: not when granting, not when denying. */
final class AllocationTest {
  private static final int CALLS = 100_000;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Test
  void balanced() {
    TokenBucket granting = TokenBucket.perSecond(1_000_000_000);
    assertNoAllocation(granting::tryAcquire);
    assertNoAllocation(() -> granting.tryAcquire(3));
    assertNoAllocation(() -> granting.tryAcquire(0));
    assertNoAllocation(() -> granting.tryAcquire(2, System.nanoTime()));
    TokenBucket denying = bucket(Limit.per(1, Duration.ofDays(1)), 0, NanoClock.system());
    assertNoAllocation(denying::tryAcquire);
    assertNoAllocation(() -> denying.tryAcquire(Long.MAX_VALUE));
  }

  @Test
  void strict() {
    assertNoAllocation(
        TokenBucket.of(new Limit.Strict(1_000_000, Duration.ofMillis(1)))::tryAcquire);
    assertNoAllocation(
        bucket(new Limit.Strict(1, Duration.ofDays(1)), 0, NanoClock.system())::tryAcquire);
  }

  @Test
  void manual() {
    assertNoAllocation(TokenBucket.of(new Limit.Manual(Limit.MAX_CAPACITY))::tryAcquire);
    assertNoAllocation(bucket(new Limit.Manual(1), 0, NanoClock.system())::tryAcquire);
  }

  @Test
  void coarseClock() {
    assertNoAllocation(bucket(Limit.perSecond(1_000_000_000), 0, NanoClock.coarse())::tryAcquire);
  }

  @Test
  void reconfiguredBucket() {
    TokenBucket bucket = TokenBucket.perSecond(10);
    bucket.reconfigure(Limit.perSecond(1_000_000_000));
    assertNoAllocation(bucket::tryAcquire);
  }

  @Test
  void reads() {
    TokenBucket bucket = TokenBucket.perSecond(10);
    assertNoAllocation(() -> bucket.available() >= 0);
  }

  @Test
  void limits_oneName() {
    Limits limits = Limits.create();
    limits.set("granting", Limit.ofRate(1e9, 1e9));
    limits.set("denying", Limit.ofRate(0, 0));
    limits.set("template:*", Limit.ofRate(1e9, 1e9));
    assertNoAllocation(() -> limits.tryAcquire("granting"));
    assertNoAllocation(() -> limits.tryAcquire("granting", 3));
    assertNoAllocation(() -> limits.tryAcquire("denying"));
    assertNoAllocation(() -> limits.tryAcquire("template:1"));
    assertNoAllocation(() -> limits.tryAcquire("unknown"));
  }

  private interface Call {
    boolean run();
  }

  /**
   * Warm code allocates nothing. The JVM itself may, on the caller's thread and rarely, as when it
   * recompiles: what the call allocates shows in every round.
   */
  private static void assertNoAllocation(Call call) {
    run(call);
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 5 && least > 0; round++) {
      long before = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
      run(call);
      long after = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
      least = Math.min(least, after - before);
    }
    assertThat(least).as("bytes over %s calls", CALLS).isZero();
  }

  private static long run(Call call) {
    long granted = 0;
    for (int i = 0; i < CALLS; i++) {
      granted += call.run() ? 1 : 0;
    }
    return granted;
  }
}
