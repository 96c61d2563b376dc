package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FairExecutor;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.Placement;
import dev.sluice.TokenBucket;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.ratelimiter.RequestNotPermitted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** docs/recipes/from-resilience4j.md: before and after, which answer alike. */
@Timeout(30)
final class FromResilience4jTest {
  private final List<String> calls = new ArrayList<>();

  private String call(String what) {
    calls.add(what);
    return what;
  }

  @Test
  void guardedCalls() throws Exception {
    for (int i = 0; i < 12; i++) {
      before("a");
    }
    assertThat(calls).hasSize(10);
    for (int i = 0; i < 12; i++) {
      after("a");
    }
    assertThat(calls).hasSize(20);
  }

  private final RateLimiter limiter =
      RateLimiter.of(
          "provider",
          RateLimiterConfig.custom()
              .limitForPeriod(10)
              .limitRefreshPeriod(Duration.ofHours(1))
              .timeoutDuration(Duration.ofMillis(1))
              .build());

  private Optional<String> before(String what) throws Exception {
    Callable<String> guarded = RateLimiter.decorateCallable(limiter, () -> call(what));
    try {
      return Optional.of(guarded.call());
    } catch (RequestNotPermitted refused) { // an exception, without a time to come back
      return Optional.empty();
    }
  }

  private final TokenBucket bucket = TokenBucket.of(Limit.strict(10, Duration.ofHours(1)));

  private Optional<String> after(String what) throws InterruptedException {
    boolean mayGo = bucket.acquire(1, Duration.ofMillis(1)); // hopeless: at once
    return mayGo ? Optional.of(call(what)) : Optional.empty();
  }

  @Test
  void namedLimiters() {
    RateLimiterConfig config =
        RateLimiterConfig.custom()
            .limitForPeriod(2)
            .limitRefreshPeriod(Duration.ofHours(1))
            .timeoutDuration(Duration.ZERO)
            .build();
    RateLimiterRegistry registry = RateLimiterRegistry.of(config);
    boolean before = registry.rateLimiter("tenant:acme").acquirePermission(2);

    Limits throttle = Limits.create();
    throttle.set("tenant:*", Limit.ofRate(2 / 3_600.0, 2));
    boolean after = throttle.tryAcquire("tenant:acme", 2);

    assertThat(after).isEqualTo(before).isTrue();
    assertThat(throttle.tryAcquire("tenant:acme"))
        .isEqualTo(registry.rateLimiter("tenant:acme").acquirePermission())
        .isFalse();
  }

  @Test
  void limitedThreadsAndRate() {
    try (FairExecutor executor =
        FairExecutor.builder().threads(4).limit("provider", Limit.perSecond(10)).build()) {
      Placement acme = Placement.of("acme").withThrottleKeys("provider");
      CompletableFuture<String> answer = executor.submit(acme, () -> call("a"));
      assertThat(answer.join()).isEqualTo("a");
    }
  }
}
