package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import dev.sluice.ManualClock;
import dev.sluice.redis.internal.limits.CachedLimits;
import dev.sluice.redis.internal.limits.InMemoryLimits;
import dev.sluice.testkit.contract.ContractClock;
import dev.sluice.testkit.contract.LimitsContract;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Nested;

/** The contract of throttles, kept in the core, in memory and in Redis. */
final class ThrottleContractTest {
  /** A throttle of the core. */
  private record CoreKeys(Limits throttle) implements LimitsContract.Keys {
    @Override
    public void setRate(String key, double ratePerSecond, double burst) {
      throttle.set(key, Limit.ofRate(ratePerSecond, burst));
    }

    @Override
    public boolean removeRate(String key) {
      return throttle.remove(key);
    }

    @Override
    public void setTemplate(String pattern, double ratePerSecond, double burst) {
      throttle.set(pattern, Limit.ofRate(ratePerSecond, burst));
    }

    @Override
    public boolean removeTemplate(String pattern) {
      return throttle.remove(pattern);
    }

    @Override
    public boolean tryConsume(List<String> keys) {
      return throttle.tryAcquire(keys);
    }

    @Override
    public Decision consume(Map<String, Long> costs) {
      return throttle.decide(costs);
    }

    @Override
    public Decision peek(Map<String, Long> costs) {
      return throttle.peek(costs);
    }

    @Override
    public Optional<LimitStats> snapshot(String key) {
      return throttle.stats(key);
    }
  }

  /** The named limits of shared limits. */
  private record AnyShared(SharedLimits.Blocking limits) implements LimitsContract.Keys {
    @Override
    public void setRate(String key, double ratePerSecond, double burst) {
      limits.set(key, new Limit.Rate(ratePerSecond, burst));
    }

    @Override
    public boolean removeRate(String key) {
      return limits.remove(key);
    }

    @Override
    public void setTemplate(String pattern, double ratePerSecond, double burst) {
      limits.set(pattern, new Limit.Rate(ratePerSecond, burst));
    }

    @Override
    public boolean removeTemplate(String pattern) {
      return limits.remove(pattern);
    }

    @Override
    public boolean tryConsume(List<String> keys) {
      return limits.tryAcquire(keys);
    }

    @Override
    public Decision consume(Map<String, Long> costs) {
      return limits.decide(costs);
    }

    @Override
    public Decision peek(Map<String, Long> costs) {
      return limits.peek(costs);
    }

    @Override
    public Optional<LimitStats> snapshot(String key) {
      return limits.stats(key);
    }
  }

  @AutoClose private static final StandingRedis redis = StandingRedis.start();

  @Nested
  final class InCore extends LimitsContract {
    private final HandClock clock = new HandClock(ManualClock.create());

    @Override
    protected Keys throttle() {
      return new CoreKeys(Limits.builder().clock(clock.clock()).build());
    }

    @Override
    protected ContractClock clock() {
      return clock;
    }
  }

  @Nested
  final class InMemory extends LimitsContract {
    private final HandClock clock = new HandClock(ManualClock.create());

    @Override
    protected Keys throttle() {
      return new AnyShared(new InMemoryLimits(CachedLimits.NONE, clock.clock()).blocking());
    }

    @Override
    protected ContractClock clock() {
      return clock;
    }
  }

  @Nested
  final class InRedis extends LimitsContract {
    private final SharedLimits limits = redis.open();

    @AfterEach
    void close() {
      limits.close();
    }

    @Override
    protected Keys throttle() {
      return new AnyShared(limits.blocking());
    }

    @Override
    protected ContractClock clock() {
      return redis;
    }
  }
}
