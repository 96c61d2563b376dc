package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.grpc.UnauthenticatedCallLimiter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How many calls of one connection begin, and are open, without a key. */
final class CallsWithoutKeyTest {
  private final UnauthenticatedCallLimiter calls = new UnauthenticatedCallLimiter(0);

  private int begin(int count) {
    int begun = 0;
    for (int i = 0; i < count; i++) {
      begun += calls.begin(0) ? 1 : 0;
    }
    return begun;
  }

  @Test
  void calls_beginUntilTheAllowanceIsUsedUp_andLaterAsItGrows() {
    assertThat(begin(1_000)).isEqualTo(UnauthenticatedCallLimiter.MAX);
    calls.refill(TimeUnit.SECONDS.toNanos(1));
    assertThat(begin(1_000)).isEqualTo(10);
    calls.refill(TimeUnit.HOURS.toNanos(1));
    assertThat(begin(1_000)).isEqualTo(UnauthenticatedCallLimiter.MAX);
  }

  @Test
  void callsWithAKey_doNotCount() {
    for (int open = 0; open < 1_000; open++) {
      assertThat(calls.begin(open)).isTrue();
      calls.shown();
    }
    assertThat(begin(1_000)).isEqualTo(UnauthenticatedCallLimiter.MAX);
  }

  @Test
  void openCalls_areFewerUntilAKeyIsShown() {
    assertThat(calls.begin(UnauthenticatedCallLimiter.MAX_OF_A_STRANGER - 1)).isTrue();
    assertThat(calls.begin(UnauthenticatedCallLimiter.MAX_OF_A_STRANGER)).isFalse();
    calls.shown();
    assertThat(calls.begin(UnauthenticatedCallLimiter.MAX)).isTrue();
    assertThat(calls.begin(UnauthenticatedCallLimiter.MAX + 1)).isFalse();
    calls.ended();
    assertThat(calls.begin(UnauthenticatedCallLimiter.MAX)).isFalse();
  }
}
