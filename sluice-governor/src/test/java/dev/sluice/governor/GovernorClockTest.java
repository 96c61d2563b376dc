package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.Limit;
import dev.sluice.ManualClock;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A governor on a manual clock, and so without waiting. */
class GovernorClockTest {
  private static final TokenRequest REQUEST = TokenRequest.of("m", 60);

  private static final BudgetConfig CONFIG =
      BudgetConfig.builder().model("m", ModelBudget.builder(Limit.perMinute(60)).build()).build();

  private final ManualClock clock = ManualClock.startingAt(-30_000_000_000L);
  private final Governor governor = Governor.builder(CONFIG).clock(clock).build();

  @Test
  void clockNearOverflow_isRefused() {
    Governor.Builder builder =
        Governor.builder(CONFIG).clock(ManualClock.startingAt(Long.MAX_VALUE - 1));
    assertThatIllegalArgumentException()
        .isThrownBy(builder::build)
        .withMessageContaining("the time of the clock in ns must be from");
  }

  @Test
  void waiter_isGrantedWhenTheClockReachesItsEta() {
    assertThat(governor.request(REQUEST).join().isGranted()).isTrue();
    CompletableFuture<TokenDecision> waiting = governor.acquire(REQUEST);
    clock.advance(Duration.ofMillis(59_999));
    assertThat(waiting).isNotDone();
    clock.advance(Duration.ofMillis(1));
    assertThat(waiting).isCompletedWithValueMatching(TokenDecision::isGranted);
  }

  @Test
  void waiter_isDeniedAfterItsMaxWait() {
    governor.request(REQUEST).join();
    CompletableFuture<TokenDecision> waiting =
        governor.acquire(REQUEST.withMaxWait(Duration.ofSeconds(2)));
    clock.advance(Duration.ofSeconds(2));
    assertThat(waiting)
        .isCompletedWithValueMatching(
            decision ->
                decision instanceof TokenDecision.Denied denied
                    && denied.reason() == TokenDecision.Reason.TIMEOUT);
  }

  /** A callback that requests again runs after the one that granted it. */
  @Test
  void callbackThatRequestsAgain_isServed() {
    CompletableFuture<TokenDecision> second =
        governor.acquire(REQUEST).thenCompose(first -> governor.acquire(REQUEST));
    CompletableFuture<TokenDecision> third =
        second.thenCompose(decision -> governor.acquire(REQUEST));
    clock.advance(Duration.ofMinutes(1));
    assertThat(second).isCompletedWithValueMatching(TokenDecision::isGranted);
    assertThat(third).isNotDone();
    clock.advance(Duration.ofMinutes(1));
    assertThat(third).isCompletedWithValueMatching(TokenDecision::isGranted);
  }

  @Test
  void closedGovernor_doesNothingWhenTheClockAdvances() {
    governor.request(REQUEST).join();
    CompletableFuture<TokenDecision> waiting = governor.acquire(REQUEST);
    governor.close();
    assertThat(waiting)
        .isCompletedWithValueMatching(
            decision ->
                decision instanceof TokenDecision.Denied denied
                    && denied.reason() == TokenDecision.Reason.CLOSED);
    clock.advance(Duration.ofDays(1));
  }
}
