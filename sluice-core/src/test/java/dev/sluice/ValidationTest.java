package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bad input gets an error that names the rule and the value, and changes nothing. */
final class ValidationTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void builder_namesRuleAndValue() {
    rejects(
        () -> builder().limit(Limit.manual(0)).build(), "capacity must be positive", "but was 0");
    rejects(
        () -> builder().limit(Limit.manual(-3)).build(), "capacity must be positive", "but was -3");
    rejects(
        () -> builder().limit(Limit.manual(Long.MAX_VALUE)).build(),
        "capacity must be at most 9007199254740992",
        "but was " + Long.MAX_VALUE);
    rejects(
        () -> builder().limit(new Limit.Balanced(1, 0, SECOND)).build(),
        "refillTokens must be positive",
        "but was 0");
    rejects(
        () -> builder().limit(new Limit.Balanced(1, 1, Duration.ZERO)).build(),
        "refillPeriod must be positive",
        "but was PT0S");
    rejects(
        () -> builder().limit(new Limit.Balanced(1, 1, Duration.ofNanos(-1))).build(),
        "refillPeriod must be positive",
        "but was PT-0.000000001S");
    rejects(
        () -> builder().limit(Limit.strict(1, Duration.ofDays(100_000))).build(),
        "period must be positive and at most",
        "PT2400000H");
    rejects(
        () -> builder().limit(Limit.manual(5)).initialTokens(6).build(),
        "initialTokens must be at most 5",
        "but was 6");
    rejects(
        () -> builder().limit(Limit.manual(5)).initialTokens(-1).build(),
        "initialTokens must not be negative",
        "but was -1");
    rejects(() -> builder().maxWaiters(-1), "maxWaiters must not be negative", "but was -1");
  }

  @Test
  void builderWithoutLimit_isRefused() {
    assertThatIllegalStateException()
        .isThrownBy(() -> builder().initialTokens(1).build())
        .withMessage("limit is required: call limit(...) before build()");
  }

  @Test
  void oneLiners_zeroDeniesAll() {
    for (TokenBucket bucket :
        new TokenBucket[] {
          TokenBucket.perSecond(0), TokenBucket.perMinute(0), TokenBucket.per(0, SECOND)
        }) {
      assertThat(bucket.tryAcquire()).isFalse();
      assertThat(bucket.tryAcquire(0)).isTrue();
      assertThat(bucket.available()).isZero();
      assertThat(bucket.timeToFull()).contains(Duration.ZERO);
      assertThat(((Decision.Impossible) bucket.decide(1)).capacity()).isZero();
    }
  }

  @Test
  void oneLiners_rejectNegativeAndOutOfRange() {
    rejects(() -> TokenBucket.perSecond(-1), "tokens must not be negative", "but was -1");
    rejects(() -> TokenBucket.perMinute(-7), "tokens must not be negative", "but was -7");
    rejects(() -> TokenBucket.per(1, Duration.ZERO), "period must be positive", "but was PT0S");
    rejects(
        () -> TokenBucket.perSecond(Long.MAX_VALUE), "capacity must be at most", "but was 9223");
  }

  @Test
  void oneLiners_startFullAtTheirRate() {
    assertThat(TokenBucket.perSecond(100).limit()).isEqualTo(new Limit.Balanced(100, 100, SECOND));
    assertThat(TokenBucket.perMinute(60).limit())
        .isEqualTo(new Limit.Balanced(60, 60, Duration.ofMinutes(1)));
    assertThat(TokenBucket.per(7, Duration.ofDays(1)).available()).isEqualTo(7);
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MIN_VALUE})
  void negativeTokens_areRejectedEverywhere(long tokens) {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = builder().limit(new Limit.Balanced(10, 10, SECOND)).clock(clock).build();
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            () -> bucket.tryAcquire(tokens),
            () -> bucket.tryAcquire(tokens, 0),
            () -> bucket.decide(tokens),
            () -> bucket.peek(tokens),
            () -> bucket.acquireAsync(tokens).join(),
            () -> bucket.acquireAsync(tokens, SECOND).join(),
            () -> bucket.acquire(tokens),
            () -> bucket.acquire(tokens, SECOND),
            () -> bucket.replenish(tokens))) {
      rejects(call, "tokens must not be negative", "but was " + tokens);
      assertThat(bucket.available()).isEqualTo(10);
    }
  }

  @Test
  void nulls_areRejected() {
    TokenBucket bucket = TokenBucket.perSecond(1);
    assertThatExceptionOfType(NullPointerException.class)
        .isThrownBy(() -> bucket.reconfigure(null));
    assertThatExceptionOfType(NullPointerException.class)
        .isThrownBy(() -> TokenBucket.per(1, null));
    assertThatExceptionOfType(NullPointerException.class)
        .isThrownBy(() -> builder().limit(Limit.manual(1)).clock(null).build());
  }

  @Test
  void toString_namesLimitAndLevel() {
    assertThat(builder().limit(Limit.manual(3)).initialTokens(2).build())
        .hasToString("TokenBucket[limit=Manual[capacity=3], available=2]");
  }

  @Test
  void decisions_reportRemainingRetryAfterAndCapacity() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = builder().limit(new Limit.Balanced(10, 10, SECOND)).clock(clock).build();
    assertThat(((Decision.Granted) bucket.decide(4)).remaining()).isEqualTo(6);
    assertThat(((Decision.Granted) bucket.peek(4)).remaining()).isEqualTo(2);
    assertThat(((Decision.Granted) bucket.decide(0)).remaining()).isEqualTo(6);
    assertThat(((Decision.Denied) bucket.decide(7)).retryAfter()).isEqualTo(Duration.ofMillis(100));
    assertThat(((Decision.Impossible) bucket.decide(11)).capacity()).isEqualTo(10);
    assertThat(bucket.decide(7))
        .isEqualTo(bucket.decide(7))
        .hasToString("Denied[limitName=, retryAfterNanos=100000000]");
  }

  private static void rejects(ThrowingCallable call, String rule, String value) {
    assertThatIllegalArgumentException()
        .isThrownBy(call)
        .withMessageContaining(rule)
        .withMessageContaining(value);
  }

  private static TokenBucket.Builder builder() {
    return TokenBucket.builder();
  }
}
