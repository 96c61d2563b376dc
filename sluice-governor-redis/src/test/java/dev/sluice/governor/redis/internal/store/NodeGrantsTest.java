package dev.sluice.governor.redis.internal.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreTimer;
import org.junit.jupiter.api.Test;

/** The time for which a node counts a grant as open. */
final class NodeGrantsTest {
  private static final long TIMEOUT_NANOS = 1_000;

  private final ManualTimer timer = new ManualTimer();
  private final NodeGrants grants = new NodeGrants(timer, () -> TIMEOUT_NANOS);

  private static NodeGrants.Grant grant(String id) {
    return new NodeGrants.Grant(
        new TokenDecision.Granted("model", "P1_user", 1, 0, 1, "r0123456789-" + id),
        "",
        null,
        false);
  }

  /** A poll of a granted ticket delivers the same grant again. */
  @Test
  void grantDeliveredAgain_isNotExtended() {
    grants.add(grant("one"));
    timer.nanos = TIMEOUT_NANOS / 2;
    grants.add(grant("two"));
    grants.add(grant("one"));
    timer.nanos = TIMEOUT_NANOS;
    assertThat(grants.all()).containsExactly(grant("two"));
    timer.nanos += TIMEOUT_NANOS;
    assertThat(grants.all()).isEmpty();
  }

  /** A grant is delivered to two callers, one after the other. */
  @Test
  void grantOfTwoCallers_isRemovedWhenItReachedNeither() {
    grants.add(grant("one"));
    grants.add(grant("one"));
    grants.undelivered("one");
    assertThat(grants.all()).containsExactly(grant("one"));
    grants.undelivered("one");
    assertThat(grants.all()).isEmpty();
    grants.undelivered("one");
    assertThat(grants.all()).isEmpty();
  }

  private static final class ManualTimer implements StoreTimer {
    private long nanos;

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public void schedule(long delay, Runnable action) {}

    @Override
    public void execute(Runnable action) {}

    @Override
    public void close() {}
  }
}
