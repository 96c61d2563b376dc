package dev.sluice.bench.core;

import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Limit;
import dev.sluice.Limits;
import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.caffeine.Bucket4jCaffeine;
import io.github.bucket4j.caffeine.CaffeineProxyManager;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/** Limiters with a bucket for each key, and the ways to make those. */
public enum KeyedKind {
  SLUICE {
    @Override
    Predicate<String> create(long tokens, Duration period) {
      Limits throttle = Limits.create();
      throttle.set("tenant:*", Limit.ofRate(perSecond(tokens, period), (double) tokens));
      return throttle::tryAcquire;
    }
  },
  SLUICE_SET_RATE {
    @Override
    Predicate<String> create(long tokens, Duration period) {
      Limits throttle = Limits.create();
      return key -> {
        throttle.set(key, Limit.ofRate(perSecond(tokens, period), (double) tokens));
        return throttle.tryAcquire(key);
      };
    }
  },
  BUCKET4J {
    @Override
    Predicate<String> create(long tokens, Duration period) {
      // One bandwidth for all, and nanosecond precision, as all others have.
      Bandwidth bandwidth = bandwidth(tokens, period);
      ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();
      return key -> {
        Bucket bucket = buckets.get(key);
        if (bucket == null) {
          bucket =
              buckets.computeIfAbsent(
                  key,
                  absent -> Bucket.builder().addLimit(bandwidth).withNanosecondPrecision().build());
        }
        return bucket.tryConsume(1);
      };
    }
  },
  BUCKET4J_CAFFEINE {
    @Override
    Predicate<String> create(long tokens, Duration period) {
      // On the wall clock, in milliseconds: its stores take no other.
      BucketConfiguration configuration =
          BucketConfiguration.builder().addLimit(bandwidth(tokens, period)).build();
      CaffeineProxyManager<String> buckets =
          Bucket4jCaffeine.<String>builderFor(Caffeine.newBuilder()).build();
      return key -> buckets.builder().build(key, () -> configuration).tryConsume(1);
    }
  };

  /** A limiter that gives every key so many tokens in a period, and as many at once. */
  abstract Predicate<String> create(long tokens, Duration period);

  private static double perSecond(long tokens, Duration period) {
    return (double) tokens / period.toSeconds();
  }

  private static Bandwidth bandwidth(long tokens, Duration period) {
    return Bandwidth.builder().capacity(tokens).refillGreedy(tokens, period).build();
  }
}
