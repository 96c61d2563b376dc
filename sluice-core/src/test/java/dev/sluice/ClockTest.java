package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.internal.time.ClockTimer;
import dev.sluice.internal.time.CoarseClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("any-jdk")
final class ClockTest {
  private static final Duration TICK = Duration.ofMillis(1);

  /** Less than it is by default, so that it is soon over. */
  private static final Duration IDLE = Duration.ofMillis(1_500);

  @Test
  void system_isNanoTime() {
    long before = System.nanoTime();
    assertThat(NanoClock.system().nanoTime() - before).isNotNegative();
    assertThat(NanoClock.system().nanoTime() - System.nanoTime()).isNotPositive();
  }

  @Test
  void coarse_startsWithTheFirstReading_ticks_andStopsWhenUnused() {
    CoarseClock clock = new CoarseClock(TICK, IDLE);
    assertThat(clock.isRunning()).isFalse();
    long first = clock.nanoTime();
    assertThat(clock.isRunning()).isTrue();
    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> clock.nanoTime() - first > 0);
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> !clock.isRunning());
    long again = clock.nanoTime();
    assertThat(clock.isRunning()).isTrue();
    assertThat(again - first).as("fresh after a restart").isGreaterThanOrEqualTo(IDLE.toNanos());
  }

  @Test
  void coarse_isNeverAhead_norBackward() {
    NanoClock clock = NanoClock.coarse();
    long previous = clock.nanoTime();
    long end = System.nanoTime() + 200_000_000;
    while (System.nanoTime() - end < 0) {
      long reading = clock.nanoTime();
      assertThat(reading - System.nanoTime()).isNotPositive();
      assertThat(reading - previous).isNotNegative();
      previous = reading;
    }
  }

  @Test
  void coarse_runsOnADaemonThread() {
    NanoClock.coarse().nanoTime();
    assertThat(Thread.getAllStackTraces().keySet())
        .filteredOn(thread -> thread.getName().startsWith("sluice-"))
        .isNotEmpty()
        .allMatch(Thread::isDaemon)
        .allMatch(thread -> thread.getContextClassLoader() == ClassLoader.getSystemClassLoader());
  }

  @Test
  void coarse_keepsRunningWhileRead() {
    CoarseClock clock = new CoarseClock(TICK, IDLE);
    long end = System.nanoTime() + IDLE.toNanos() * 7 / 5;
    while (System.nanoTime() - end < 0) {
      clock.nanoTime();
      assertThat(clock.isRunning()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 0, 999, 1_000_000_001})
  void coarse_rejectsATickOutOfRange(long nanos) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NanoClock.coarse(Duration.ofNanos(nanos)))
        .withMessageContaining("tick must be from")
        .withMessageContaining(Duration.ofNanos(nanos).toString());
  }

  @Test
  void manual_rejectsGoingBack() {
    ManualClock clock = ManualClock.startingAt(5);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> clock.advanceNanos(-1))
        .withMessageContaining(", but was -1");
    assertThat(clock.nanoTime()).isEqualTo(5);
    assertThat(clock).hasToString("ManualClock[nanos=5]");
  }

  @Test
  void manual_goesThroughItsAlarmsInOrder_alsoAcrossTheWrap() {
    ManualClock clock = ManualClock.startingAt(Long.MAX_VALUE - 10);
    List<String> log = new ArrayList<>();
    ClockTimer.of(clock).at(Long.MIN_VALUE + 20, () -> log.add("third@" + clock.nanoTime()));
    ClockTimer.of(clock).at(Long.MAX_VALUE, () -> log.add("first@" + clock.nanoTime()));
    ClockTimer.of(clock).at(Long.MIN_VALUE + 5, () -> log.add("second@" + clock.nanoTime()));
    ClockTimer.of(clock).at(Long.MIN_VALUE + 6, () -> log.add("never")).cancel();
    clock.advanceNanos(30);
    assertThat(log).containsExactly("first@" + Long.MAX_VALUE, "second@" + (Long.MIN_VALUE + 5));
    clock.advanceNanos(30);
    assertThat(log).hasSize(3).last().isEqualTo("third@" + (Long.MIN_VALUE + 20));
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void manual_alarmsSetOnTheWay_goOffOnTheSameAdvance() {
    ManualClock clock = ManualClock.create();
    List<Long> log = new ArrayList<>();
    ClockTimer.of(clock)
        .at(
            10,
            () -> {
              log.add(clock.nanoTime());
              ClockTimer.of(clock).at(20, () -> log.add(clock.nanoTime()));
              ClockTimer.of(clock).at(5, () -> log.add(clock.nanoTime()));
            });
    clock.advanceNanos(20);
    assertThat(log).containsExactly(10L, 10L, 20L);
  }
}
