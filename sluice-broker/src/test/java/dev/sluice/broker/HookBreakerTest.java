package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.hooks.HookCircuitBreaker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HookBreakerTest {
  private static final long BYPASS = HookCircuitBreaker.BYPASS_NANOS;

  private final HookCircuitBreaker breaker = new HookCircuitBreaker();

  /** The clock may wrap at any time. */
  @ParameterizedTest
  @ValueSource(longs = {0, 42, -1, Long.MAX_VALUE - 5, Long.MIN_VALUE})
  void failures_threeInARow_bypassForTenSeconds(long now) {
    assertThat(breaker.failed(now)).isFalse();
    assertThat(breaker.failed(now)).isFalse();
    assertThat(breaker.allows(now)).isTrue();
    assertThat(breaker.failed(now)).isTrue();
    assertThat(breaker.allows(now)).isFalse();
    assertThat(breaker.allows(now + BYPASS - 1)).isFalse();
    assertThat(breaker.allows(now + BYPASS)).isTrue();
  }

  @Test
  void success_startsTheCountAgain() {
    for (int i = 0; i < 10; i++) {
      breaker.failed(i);
      breaker.failed(i);
      breaker.succeeded();
    }
    assertThat(breaker.allows(10)).isTrue();
  }

  @Test
  void halfOpen_takesThreeFailuresAgain() {
    trip(0);
    assertThat(breaker.failed(BYPASS)).isFalse();
    assertThat(breaker.failed(BYPASS)).isFalse();
    assertThat(breaker.allows(BYPASS)).isTrue();
    assertThat(breaker.failed(BYPASS)).isTrue();
    assertThat(breaker.allows(2 * BYPASS - 1)).isFalse();
    assertThat(breaker.allows(2 * BYPASS)).isTrue();
  }

  @Test
  void halfOpen_successKeepsItClosed() {
    trip(0);
    breaker.failed(BYPASS);
    breaker.failed(BYPASS);
    breaker.succeeded();
    breaker.failed(BYPASS);
    assertThat(breaker.allows(BYPASS)).isTrue();
  }

  @Test
  void lateOutcome_neitherEndsNorProlongsTheBypass() {
    trip(0);
    breaker.succeeded();
    assertThat(breaker.allows(1)).isFalse();
    assertThat(breaker.failed(BYPASS - 1)).isFalse();
    assertThat(breaker.allows(BYPASS)).isTrue();
  }

  @Test
  void failures_ofManyThreadsTripItOnce() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    try {
      List<Future<Integer>> trips = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        trips.add(pool.submit(this::failOften));
      }
      int total = 0;
      for (Future<Integer> trip : trips) {
        total += trip.get();
      }
      assertThat(total).isEqualTo(1);
      assertThat(breaker.allows(0)).isFalse();
    } finally {
      pool.shutdownNow();
    }
  }

  private int failOften() {
    int trips = 0;
    for (int i = 0; i < 1000; i++) {
      trips += breaker.failed(0) ? 1 : 0;
    }
    return trips;
  }

  private void trip(long now) {
    for (int i = 0; i < HookCircuitBreaker.FAILURES; i++) {
      breaker.failed(now);
    }
  }
}
