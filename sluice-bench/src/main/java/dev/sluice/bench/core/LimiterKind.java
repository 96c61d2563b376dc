package dev.sluice.bench.core;

import com.google.common.util.concurrent.RateLimiter;
import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.Locale;

/** Sluice, its rivals, and the floor below all of them: reading the clock. */
public enum LimiterKind {
  NANOTIME {
    @Override
    Limiter create(boolean granting) {
      return tick -> System.nanoTime() != tick;
    }
  },
  SLUICE {
    @Override
    Limiter create(boolean granting) {
      TokenBucket bucket = sluice(granting, NanoClock.system());
      return tick -> bucket.tryAcquire();
    }
  },
  SLUICE_COARSE {
    @Override
    Limiter create(boolean granting) {
      TokenBucket bucket = sluice(granting, NanoClock.coarse());
      return tick -> bucket.tryAcquire();
    }
  },
  SLUICE_GIVEN_NOW {
    @Override
    Limiter create(boolean granting) {
      TokenBucket bucket = sluice(granting, () -> 0);
      return tick -> bucket.tryAcquire(1, tick);
    }
  },
  BUCKET4J {
    @Override
    Limiter create(boolean granting) {
      // Nanosecond precision, as all others have; its default clock ticks in milliseconds.
      Bucket bucket =
          Bucket.builder()
              .addLimit(
                  limit ->
                      limit
                          .capacity(tokens(granting))
                          .refillGreedy(tokens(granting), period(granting)))
              .withNanosecondPrecision()
              .build();
      return tick -> bucket.tryConsume(1);
    }
  },
  GUAVA {
    @Override
    @SuppressWarnings("UnstableApiUsage")
    Limiter create(boolean granting) {
      RateLimiter limiter =
          RateLimiter.create(tokens(granting) / (double) period(granting).toSeconds());
      return tick -> limiter.tryAcquire();
    }
  },
  RESILIENCE4J {
    @Override
    Limiter create(boolean granting) {
      var limiter =
          io.github.resilience4j.ratelimiter.RateLimiter.of(
              "bench",
              RateLimiterConfig.custom()
                  .limitForPeriod((int) tokens(granting))
                  .limitRefreshPeriod(period(granting))
                  .timeoutDuration(Duration.ZERO)
                  .build());
      return tick -> limiter.acquirePermission();
    }
  },
  FAILSAFE {
    @Override
    Limiter create(boolean granting) {
      var limiter =
          dev.failsafe.RateLimiter.smoothBuilder(tokens(granting), period(granting)).build();
      return tick -> limiter.tryAcquirePermit();
    }
  };

  /** A limiter that always grants, or one that, after its first permit, always denies. */
  abstract Limiter create(boolean granting);

  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  static TokenBucket sluice(boolean granting, NanoClock clock) {
    return TokenBucket.builder()
        .limit(Limit.per(tokens(granting), period(granting)))
        .clock(clock)
        .build();
  }

  /** More than any thread can ask for, or one. */
  private static long tokens(boolean granting) {
    return granting ? 1_000_000_000 : 1;
  }

  private static Duration period(boolean granting) {
    return granting ? Duration.ofSeconds(1) : Duration.ofDays(1);
  }
}
