package dev.sluice.governor.redis.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreTimer;
import org.junit.jupiter.api.Test;

/** How long a node counts a grant as open. */
final class NodeGrantsTest {
  private static final long LIFE_NANOS = 1_000;

  private final StandingTimer timer = new StandingTimer();
  private final NodeGrants grants = new NodeGrants(timer, () -> LIFE_NANOS);

  private static NodeGrants.Grant grant(String id) {
    return new NodeGrants.Grant(
        new TokenDecision.Granted("model", "P1_user", 1, 0, 1, "r0123456789-" + id),
        "",
        null,
        false);
  }

  /** A poll of a ticket that was granted tells of the same grant again. */
  @Test
  void grantThatIsToldAgain_livesNoLonger() {
    grants.add(grant("one"));
    timer.nanos = LIFE_NANOS / 2;
    grants.add(grant("two"));
    grants.add(grant("one"));
    timer.nanos = LIFE_NANOS;
    assertThat(grants.all()).containsExactly(grant("two"));
    timer.nanos += LIFE_NANOS;
    assertThat(grants.all()).isEmpty();
  }

  /** Two callers are told of a grant, one after the other. */
  @Test
  void grantOfWhichOneCallerHasNotHeard_staysUntilTheOtherHasNotEither() {
    grants.add(grant("one"));
    grants.add(grant("one"));
    grants.unheard("one");
    assertThat(grants.all()).containsExactly(grant("one"));
    grants.unheard("one");
    assertThat(grants.all()).isEmpty();
    grants.unheard("one");
    assertThat(grants.all()).isEmpty();
  }

  private static final class StandingTimer implements StoreTimer {
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
