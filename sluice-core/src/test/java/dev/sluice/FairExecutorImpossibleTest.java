package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tasks that can never go, and throttle keys without a rate. */
@Timeout(60)
final class FairExecutorImpossibleTest {
  private static final Placement ONE = Placement.of("tenant").withThrottleKey("provider", 1);
  private static final Placement THREE = Placement.of("tenant").withThrottleKey("provider", 3);
  private static final Placement FIVE = Placement.of("tenant").withThrottleKey("provider", 5);
  private static final String FIVE_OF_FOUR =
      "throttle key never holds that many tokens: throttleKey=provider, tokens=5,"
          + " limit=Rate[perSecond=1.0, burst=4.0], tenant=tenant";

  private final ManualClock clock = ManualClock.create();
  private final AtomicInteger ran = new AtomicInteger();

  private FairExecutor.Builder inline() {
    return FairExecutor.builder().executor(Runnable::run, 1).clock(clock);
  }

  @Test
  void submit_moreTokensThanTheBurst_isRejectedWithTheReason() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 4)).build();
    assertThatThrownBy(() -> executor.submit(FIVE, ran::incrementAndGet))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage(FIVE_OF_FOUR);
    assertThatThrownBy(() -> executor.execute(FIVE, ran::incrementAndGet))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage(FIVE_OF_FOUR);
    assertThat(executor.queued()).isZero();
    // The rejected task holds up no other.
    assertThat(executor.submit(THREE, ran::incrementAndGet)).isCompletedWithValue(1);
    executor.close();
    assertThat(executor.isTerminated()).isTrue();
  }

  @Test
  void submit_burstBelowOne_isRejected() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 0.5)).build();
    assertThatThrownBy(() -> executor.submit(ONE, ran::incrementAndGet))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessageContaining("tokens=1, limit=Rate[perSecond=1.0, burst=0.5]");
  }

  @Test
  void submit_asMuchAsTheBurst_waitsForIt() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 5)).build();
    assertThat(executor.submit(ONE, ran::incrementAndGet)).isCompletedWithValue(1);
    CompletableFuture<Integer> all = executor.submit(FIVE, ran::incrementAndGet);
    assertThat(all).isNotDone();
    clock.advance(Duration.ofSeconds(1));
    assertThat(all).isCompletedWithValue(2);
  }

  @Test
  void setLimit_burstBelowAQueuedTask_failsItAndUnblocksLaterTasks() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 5)).build();
    executor.execute(FIVE, ran::incrementAndGet); // the bucket is empty now
    CompletableFuture<Integer> five = executor.submit(FIVE, ran::incrementAndGet);
    CompletableFuture<Integer> three = executor.submit(THREE, ran::incrementAndGet);
    List<String> failures = new ArrayList<>();
    CompletableFuture<Integer> told =
        five.whenComplete((done, failure) -> failures.add(failure.getMessage()));
    executor.setLimit("provider", Limit.ofRate(1, 4));
    assertThat(failures).containsExactly(FIVE_OF_FOUR);
    assertThat(told).isCompletedExceptionally();
    assertThat(five)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOf(RejectedExecutionException.class);
    assertThat(executor.queued()).isEqualTo(1);
    executor.setLimit("provider", Limit.ofRate(1, 10)); // does not bring it back
    clock.advance(Duration.ofSeconds(3));
    assertThat(three).isCompletedWithValue(2);
  }

  @Test
  void setLimit_burstBelowAnExecutedTask_reportsItAsUncaught() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 5)).build();
    executor.execute(FIVE, ran::incrementAndGet);
    executor.execute(FIVE, ran::incrementAndGet);
    List<Throwable> uncaught = new ArrayList<>();
    Thread caller = new Thread(() -> executor.setLimit("provider", Limit.ofRate(1, 4)));
    caller.setUncaughtExceptionHandler((thread, failure) -> uncaught.add(failure));
    caller.start();
    joinQuietly(caller);
    assertThat(uncaught).singleElement().asString().contains(FIVE_OF_FOUR);
    assertThat(executor.queued()).isZero();
  }

  /** The last queued task fails while close waits for it. */
  @Test
  void setLimit_burstBelowTheLastTask_letsCloseReturn() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 5)).build();
    executor.execute(FIVE, ran::incrementAndGet);
    CompletableFuture<Integer> five = executor.submit(FIVE, ran::incrementAndGet);
    Thread closer = new Thread(executor::close);
    closer.start();
    executor.setLimit("provider", Limit.ofRate(1, 4));
    joinQuietly(closer);
    assertThat(five).isCompletedExceptionally();
    assertThat(executor.isTerminated()).isTrue();
  }

  @Test
  void rateZero_pausesTasksWithAnyBurst() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(0, 0)).build();
    CompletableFuture<Integer> five = executor.submit(FIVE, ran::incrementAndGet);
    executor.setLimit("provider", Limit.ofRate(0, 2));
    assertThat(five).isNotDone();
    executor.setLimit("provider", Limit.ofRate(1, 5));
    clock.advance(Duration.ofSeconds(5));
    assertThat(five).isCompletedWithValue(1);
  }

  @Test
  void unknownThrottleKey_passesAndCounts() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 5)).build();
    Placement misspelled = ONE.withThrottleKeys("provide", "providr");
    assertThat(executor.submit(misspelled, ran::incrementAndGet)).isCompletedWithValue(1);
    executor.execute(ONE, ran::incrementAndGet);
    executor.execute(ran::incrementAndGet);
    assertThat(executor.unknownThrottleKeys()).isEqualTo(1);
  }

  @Test
  void strictThrottleKeys_unknownOne_isRefused() {
    FairExecutor executor =
        inline().limit("provider", Limit.ofRate(0, 0)).strictThrottleKeys().build();
    Placement misspelled = Placement.of("tenant").withThrottleKeys("provider", "provide");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> executor.submit(misspelled, ran::incrementAndGet))
        .withMessage("throttle key must have a limit: throttleKey=provide");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> executor.execute(misspelled, ran::incrementAndGet));
    assertThat(executor.unknownThrottleKeys()).isEqualTo(2);
    assertThat(executor.queued()).isZero();
    // Removing the rate lets a queued task pass.
    CompletableFuture<Integer> queued = executor.submit(ONE, ran::incrementAndGet);
    executor.removeLimit("provider");
    assertThat(queued).isCompletedWithValue(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> executor.submit(ONE, ran::incrementAndGet));
  }

  private static void joinQuietly(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
