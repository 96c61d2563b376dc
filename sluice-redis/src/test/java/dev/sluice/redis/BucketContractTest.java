package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.ManualClock;
import dev.sluice.TokenBucket;
import dev.sluice.redis.internal.limits.CachedLimits;
import dev.sluice.redis.internal.limits.InMemoryLimits;
import dev.sluice.testkit.contract.BucketContract;
import dev.sluice.testkit.contract.ContractClock;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;

/** The contract of buckets, kept in the core, in memory and in Redis. */
final class BucketContractTest {
  /** A bucket of the core. */
  private record CoreBucket(TokenBucket bucket) implements BucketContract.Bucket {
    @Override
    public boolean tryConsume(long tokens) {
      return bucket.tryAcquire(tokens);
    }

    @Override
    public Decision decide(long tokens) {
      return bucket.decide(tokens);
    }

    @Override
    public Decision peek(long tokens) {
      return bucket.peek(tokens);
    }

    @Override
    public long available() {
      return bucket.available();
    }

    @Override
    public Optional<Duration> timeToFull() {
      return bucket.timeToFull();
    }

    @Override
    public void replenish(long tokens) {
      bucket.replenish(tokens);
    }

    @Override
    public void refund(long tokens) {
      bucket.replenish(tokens);
    }

    @Override
    public void reset() {
      bucket.reset();
    }

    @Override
    public void reconfigure(Limit limit) {
      bucket.reconfigure(limit);
    }

    @Override
    public Limit limit() {
      return bucket.limit();
    }
  }

  /** A bucket of shared limits. */
  private record AnyShared(SharedTokenBucket bucket) implements BucketContract.Bucket {
    @Override
    public boolean tryConsume(long tokens) {
      return bucket.blocking().tryAcquire(tokens);
    }

    @Override
    public Decision decide(long tokens) {
      return bucket.blocking().decide(tokens);
    }

    @Override
    public Decision peek(long tokens) {
      return bucket.blocking().peek(tokens);
    }

    @Override
    public long available() {
      return bucket.blocking().available();
    }

    @Override
    public Optional<Duration> timeToFull() {
      return bucket.blocking().timeToFull();
    }

    @Override
    public void replenish(long tokens) {
      bucket.blocking().replenish(tokens);
    }

    @Override
    public void refund(long tokens) {
      bucket.blocking().replenish(tokens);
    }

    @Override
    public void reset() {
      bucket.blocking().reset();
    }

    @Override
    public void reconfigure(Limit limit) {
      bucket.blocking().reconfigure(limit);
    }

    @Override
    public Limit limit() {
      return bucket.limit();
    }
  }

  private static StandingRedis redis;
  private static SharedLimits limits;

  @BeforeAll
  static void start() {
    redis = StandingRedis.start();
    limits = redis.open();
  }

  @AfterAll
  static void stop() {
    limits.close();
    redis.close();
  }

  @Nested
  final class InCore extends BucketContract {
    private final HandClock clock = new HandClock(ManualClock.create());

    @Override
    protected Bucket bucket(Limit limit) {
      return new CoreBucket(TokenBucket.builder().limit(limit).clock(clock.clock()).build());
    }

    @Override
    protected ContractClock clock() {
      return clock;
    }
  }

  @Nested
  final class InMemory extends BucketContract {
    private final HandClock clock = new HandClock(ManualClock.create());
    private final SharedLimits memory = new InMemoryLimits(CachedLimits.NONE, clock.clock());

    @Override
    protected Bucket bucket(Limit limit) {
      return new AnyShared(memory.bucket(StandingRedis.newName(), limit));
    }

    @Override
    protected ContractClock clock() {
      return clock;
    }
  }

  @Nested
  final class InRedis extends BucketContract {
    @Override
    protected Bucket bucket(Limit limit) {
      redis.nextDay();
      return new AnyShared(limits.bucket(StandingRedis.newName(), limit));
    }

    @Override
    protected ContractClock clock() {
      return redis;
    }
  }
}
