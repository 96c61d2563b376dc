package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.redis.internal.store.AdjustmentState;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Provider adjustments that Redis receives later. */
final class AdjustmentsTest {
  private long now = Long.MAX_VALUE - 1_000;
  private final AdjustmentState adjustments =
      new AdjustmentState(
          new StoreTimer() {
            @Override
            public long nanoTime() {
              return now;
            }

            @Override
            public void schedule(long nanos, Runnable action) {}

            @Override
            public void execute(Runnable action) {}

            @Override
            public void close() {}
          });

  private void add(double factor, @Nullable Long level, long pauseSeconds) {
    adjustments.add(new ProviderAdjustment(factor, level, Duration.ofSeconds(pauseSeconds)));
  }

  private static @Nullable ProviderAdjustment in(
      AdjustmentState.@Nullable NumberedAdjustment adjustment) {
    return adjustment == null ? null : adjustment.adjustment();
  }

  private void seconds(long passed) {
    now += Duration.ofSeconds(passed).toNanos();
  }

  @Test
  void confirmed_isNotSentAgain() {
    add(0.5, 7L, 0);
    assertThat(adjustments.unconfirmed()).isNull();
    assertThat(in(adjustments.inForce()))
        .isEqualTo(new ProviderAdjustment(0.5, null, Duration.ZERO));
  }

  @Test
  void missed_isSentUntilItIsConfirmed() {
    add(0.5, 7L, 0);
    adjustments.missed();
    AdjustmentState.NumberedAdjustment unconfirmed = adjustments.unconfirmed();
    assertThat(unconfirmed.arguments()).containsExactly("adjust", "0.5", "", "0", "1");
    assertThat(adjustments.unconfirmed()).isEqualTo(unconfirmed);
    adjustments.confirmed(unconfirmed);
    assertThat(adjustments.unconfirmed()).isNull();
  }

  @Test
  void newerThanTheOneOnItsWay_isSentToo() {
    add(1, 900L, 0);
    adjustments.missed();
    AdjustmentState.NumberedAdjustment onItsWay = adjustments.unconfirmed();
    add(0.5, null, 0);
    adjustments.confirmed(onItsWay);
    assertThat(adjustments.unconfirmed().arguments())
        .containsExactly("adjust", "0.5", "", "0", "2");
  }

  @Test
  void pause_endsWhenItWould() {
    add(1, null, 60);
    add(0.5, 3L, 0);
    adjustments.missed();
    seconds(45);
    assertThat(in(adjustments.unconfirmed()))
        .isEqualTo(new ProviderAdjustment(0.5, null, Duration.ofSeconds(15)));
    seconds(15);
    assertThat(in(adjustments.unconfirmed()))
        .isEqualTo(new ProviderAdjustment(0.5, null, Duration.ZERO));
  }

  @Test
  void factorOfOneWithoutAPause_isNotInForce() {
    assertThat(adjustments.inForce()).isNull();
    add(0.25, null, 60);
    add(1, null, 0);
    seconds(20);
    assertThat(in(adjustments.inForce()))
        .isEqualTo(new ProviderAdjustment(1, null, Duration.ofSeconds(40)));
    seconds(40);
    assertThat(adjustments.inForce()).isNull();
  }
}
