package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.GovernorTimer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What Redis is told late of what the provider said. */
final class AdjustmentsTest {
  private long now = Long.MAX_VALUE - 1_000;
  private final Adjustments adjustments =
      new Adjustments(
          new GovernorTimer() {
            @Override
            public long now() {
              return now;
            }

            @Override
            public void after(long nanos, Runnable action) {}

            @Override
            public void execute(Runnable action) {}

            @Override
            public void close() {}
          });

  private Adjustments.Heard hear(double factor, @Nullable Long level, long pauseSeconds) {
    return adjustments.hear(new Adjustment(factor, level, Duration.ofSeconds(pauseSeconds)));
  }

  private @Nullable Adjustment unsent() {
    Adjustments.Heard unsent = adjustments.unsent();
    return unsent == null ? null : unsent.adjustment();
  }

  private @Nullable Adjustment inForce() {
    Adjustments.Heard inForce = adjustments.inForce();
    return inForce == null ? null : inForce.adjustment();
  }

  private void seconds(long passed) {
    now += Duration.ofSeconds(passed).toNanos();
  }

  @Test
  void kept_isSentOnce() {
    adjustments.keep(hear(0.5, 7L, 0));
    assertThat(unsent()).isEqualTo(new Adjustment(0.5, 7L, Duration.ZERO));
    adjustments.told(adjustments.unsent());
    assertThat(unsent()).isNull();
    assertThat(inForce()).isEqualTo(new Adjustment(0.5, null, Duration.ZERO));
  }

  @Test
  void newerThatRedisKnows_isNotUndone() {
    Adjustments.Heard old = hear(1, 900L, 0);
    Adjustments.Heard newer = hear(0.5, null, 0);
    adjustments.told(newer);
    adjustments.keep(old);
    assertThat(unsent()).isNull();
    assertThat(inForce()).isEqualTo(new Adjustment(0.5, null, Duration.ZERO));
  }

  @Test
  void lateForAShare_goesByTheNewerFactor() {
    Adjustments.Heard old = hear(1, 900L, 5);
    hear(0.5, null, 0);
    assertThat(adjustments.withLastFactor(old.adjustment()))
        .isEqualTo(new Adjustment(0.5, 900L, Duration.ofSeconds(5)));
  }

  @Test
  void newerThatRedisLearns_makesTheKeptOneOld() {
    adjustments.keep(hear(1, 900L, 0));
    adjustments.told(hear(0.5, null, 0));
    assertThat(unsent()).isNull();
  }

  @Test
  void newerOnItsWay_isNotUndone() {
    adjustments.keep(hear(1, 900L, 0));
    hear(0.5, null, 0);
    assertThat(unsent()).isEqualTo(new Adjustment(0.5, 900L, Duration.ZERO));
    assertThat(adjustments.unsent().words()).containsExactly("adjust", "0.5", "900", "0", "2");
  }

  @Test
  void pause_endsWhenItWould() {
    adjustments.keep(hear(1, null, 60));
    adjustments.keep(hear(0.5, 3L, 0));
    seconds(45);
    assertThat(unsent()).isEqualTo(new Adjustment(0.5, 3L, Duration.ofSeconds(15)));
    seconds(15);
    assertThat(unsent()).isEqualTo(new Adjustment(0.5, 3L, Duration.ZERO));
  }

  @Test
  void pause_isSentThoughRedisKnowsANewerFactor() {
    adjustments.keep(hear(1, null, 60));
    adjustments.told(hear(0.5, null, 0));
    seconds(10);
    assertThat(unsent()).isEqualTo(new Adjustment(0.5, null, Duration.ofSeconds(50)));
    adjustments.told(adjustments.unsent());
    assertThat(unsent()).isNull();
  }

  @Test
  void told_staysInForce_forBooksThatAreLost() {
    assertThat(inForce()).isNull();
    adjustments.told(hear(0.5, 7L, 60));
    adjustments.told(hear(0.25, null, 0));
    seconds(20);
    assertThat(inForce()).isEqualTo(new Adjustment(0.25, null, Duration.ofSeconds(40)));
    seconds(40);
    assertThat(inForce()).isEqualTo(new Adjustment(0.25, null, Duration.ZERO));
    adjustments.told(hear(1, null, 0));
    assertThat(inForce()).isNull();
  }
}
