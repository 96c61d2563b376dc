package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.monitor.StoreClock;
import dev.sluice.governor.spi.StoreTimer;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StoreTimeTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private long here = 7 * SECOND;

  private final StoreClock time =
      new StoreClock(
          new StoreTimer() {
            @Override
            public long nanoTime() {
              return here;
            }

            @Override
            public void schedule(long nanos, Runnable action) {
              throw new UnsupportedOperationException();
            }

            @Override
            public void execute(Runnable action) {
              throw new UnsupportedOperationException();
            }

            @Override
            public void close() {}
          });

  @Test
  void timesOfALocalStore_areThoseOfItsTimer() {
    assertThat(time.present(7 * SECOND)).isEqualTo(7 * SECOND);
    here += 3;
    assertThat(time.present(7 * SECOND + 1)).isEqualTo(7 * SECOND + 1);
    assertThat(time.past(5)).isEqualTo(5);
  }

  @Test
  void timesOfARemoteStore_keepTheirDistanceWhenReportedLate() {
    long there = 1_000_000 * SECOND;
    assertThat(time.present(there)).isEqualTo(7 * SECOND);
    here += 4 * SECOND;
    assertThat(time.present(there + SECOND)).isEqualTo(8 * SECOND);
    assertThat(time.past(there - SECOND)).isEqualTo(6 * SECOND);
  }

  @Test
  void clockThatWasSet_isFollowed() {
    assertThat(time.present(1_000_000 * SECOND)).isEqualTo(7 * SECOND);
    assertThat(time.present(2_000_000 * SECOND)).isEqualTo(7 * SECOND);
  }
}
