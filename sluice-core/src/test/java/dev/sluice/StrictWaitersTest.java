package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Waiting for the tokens of whole periods: none outlasts its own. */
final class StrictWaitersTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final ManualClock clock = ManualClock.create();

  @Test
  void moreThanTheCapacity_takesTheTokensOfEachPeriod() {
    TokenBucket bucket = bucket(new Limit.Strict(10, SECOND), 10, clock);
    CompletableFuture<Void> big = bucket.acquireAsync(25);
    CompletableFuture<Void> next = bucket.acquireAsync(5);
    CompletableFuture<Void> last = bucket.acquireAsync(1);
    clock.advance(Duration.ofSeconds(2).minusNanos(1));
    assertThat(big).isNotDone();
    clock.advanceNanos(1);
    assertThat(big).isCompleted();
    assertThat(next).isCompleted();
    assertThat(last).isNotDone();
    clock.advance(SECOND);
    assertThat(last).isCompleted();
    assertThat(bucket.available()).isEqualTo(9);
  }

  @Test
  void waitersDoNotCarryTokensOverTheBoundary() {
    TokenBucket bucket = bucket(new Limit.Strict(10, SECOND), 10, clock);
    assertThat(bucket.tryAcquire(7)).isTrue();
    CompletableFuture<Void> five = bucket.acquireAsync(5);
    CompletableFuture<Void> one = bucket.acquireAsync(1);
    assertThat(bucket.tryAcquire(1)).isFalse();
    clock.advance(SECOND);
    assertThat(five).isCompleted();
    assertThat(one).isCompleted();
    assertThat(bucket.available()).isEqualTo(4);
  }

  @Test
  void cancel_movesLaterWaitersToPeriodsWithRoom() {
    TokenBucket bucket = bucket(new Limit.Strict(10, SECOND), 10, clock);
    assertThat(bucket.tryAcquire(7)).isTrue();
    CompletableFuture<Void> eight = bucket.acquireAsync(8);
    CompletableFuture<Void> three = bucket.acquireAsync(3);
    CompletableFuture<Void> seven = bucket.acquireAsync(7);
    assertThat(eight.cancel(true)).isTrue();
    assertThat(three).as("fits the present period").isCompleted();
    assertThat(seven).isNotDone();
    assertThat(bucket.available()).isZero();
    clock.advance(SECOND);
    assertThat(seven).isCompleted();
    assertThat(bucket.available()).isEqualTo(3);
  }

  @Test
  void replenish_servesWaitersFirst_andKeepsTheRest() {
    TokenBucket bucket = bucket(new Limit.Strict(10, SECOND), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(6);
    CompletableFuture<Void> second = bucket.acquireAsync(6);
    bucket.replenish(12);
    assertThat(first).isCompleted();
    assertThat(second).isCompleted();
    assertThat(bucket.available()).isZero();
    bucket.replenish(5);
    CompletableFuture<Void> third = bucket.acquireAsync(10);
    bucket.replenish(9);
    assertThat(third).isCompleted();
    assertThat(bucket.available()).isEqualTo(4);
  }
}
