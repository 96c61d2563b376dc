package dev.sluice.bench.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's limiter with its own client and default settings; its rate is set once a key. */
final class RedissonSharedLimiter implements SharedLimiter {
  private static final Duration PERIOD = Duration.ofSeconds(1);

  /** Keys whose rate is being set. */
  private static final int WINDOW = 1_000;

  private final RedissonClient client;
  private final long perSecond;
  private final RRateLimiter limiter;

  RedissonSharedLimiter(String url, long perSecond) {
    this.perSecond = perSecond;
    Config config = new Config();
    config.useSingleServer().setAddress(url);
    client = Redisson.create(config);
    limiter = client.getRateLimiter("redisson:" + perSecond);
    limiter.trySetRate(RateType.OVERALL, perSecond, PERIOD);
  }

  @Override
  public boolean tryConsume() {
    return limiter.tryAcquire();
  }

  @Override
  public CompletionStage<Boolean> tryConsumeAsync() {
    return limiter.tryAcquireAsync();
  }

  @Override
  public boolean tryConsume(String key) {
    return keyed(key).tryAcquire();
  }

  @Override
  public void prepare(List<String> keys) throws InterruptedException {
    Semaphore window = new Semaphore(WINDOW);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    for (String key : keys) {
      window.acquire();
      var unused =
          keyed(key)
              .trySetRateAsync(RateType.OVERALL, perSecond, PERIOD)
              .whenComplete(
                  (set, failed) -> {
                    failure.compareAndSet(null, failed);
                    window.release();
                  });
    }
    window.acquire(WINDOW);
    if (failure.get() != null) {
      throw new IllegalStateException("a rate was not set", failure.get());
    }
  }

  private RRateLimiter keyed(String key) {
    return client.getRateLimiter("redisson:" + key);
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
