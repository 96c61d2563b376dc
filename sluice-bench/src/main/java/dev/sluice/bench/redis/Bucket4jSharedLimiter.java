package dev.sluice.bench.redis;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.BucketProxy;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Bucket4j on Lettuce as its documentation shows it: compare and swap, retried at once. */
final class Bucket4jSharedLimiter implements SharedLimiter {
  private static final Duration KEPT = Duration.ofSeconds(10);

  private final RedisClient client;
  private final BucketConfiguration configuration;
  private final ProxyManager<String> manager;
  private final BucketProxy bucket;
  private final AsyncBucketProxy asyncBucket;

  Bucket4jSharedLimiter(String url, long perSecond) {
    client = RedisClient.create(url);
    configuration =
        BucketConfiguration.builder()
            .addLimit(
                limit -> limit.capacity(perSecond).refillGreedy(perSecond, Duration.ofSeconds(1)))
            .build();
    manager =
        Bucket4jLettuce.casBasedBuilder(
                client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE)))
            .expirationAfterWrite(
                ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(KEPT))
            .build();
    String name = "bucket4j:" + perSecond;
    bucket = manager.getProxy(name, () -> configuration);
    asyncBucket =
        manager
            .asAsync()
            .builder()
            .build(name, () -> CompletableFuture.completedFuture(configuration));
  }

  @Override
  public boolean tryConsume() {
    return bucket.tryConsume(1);
  }

  @Override
  public CompletionStage<Boolean> tryConsumeAsync() {
    return asyncBucket.tryConsume(1);
  }

  @Override
  public boolean tryConsume(String key) {
    return manager.getProxy("bucket4j:" + key, () -> configuration).tryConsume(1);
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
