package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limits;
import dev.sluice.ManualClock;
import dev.sluice.redis.limits.CachedLimits;
import dev.sluice.redis.limits.InMemoryLimits;
import dev.sluice.testkit.ContractClock;
import dev.sluice.testkit.LimitsContract;
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
      throttle.setRate(key, ratePerSecond, burst);
    }

    @Override
    public boolean removeRate(String key) {
      return throttle.removeRate(key);
    }

    @Override
    public void setTemplate(String pattern, double ratePerSecond, double burst) {
      throttle.setTemplate(pattern, ratePerSecond, burst);
    }

    @Override
    public boolean removeTemplate(String pattern) {
      return throttle.removeTemplate(pattern);
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
    public Optional<Limits.Snapshot> snapshot(String key) {
      return throttle.stats(key);
    }
  }

  /** A throttle of shared limits. */
  private record AnyShared(SharedThrottle throttle) implements LimitsContract.Keys {
    @Override
    public void setRate(String key, double ratePerSecond, double burst) {
      throttle.blocking().setRate(key, ratePerSecond, burst);
    }

    @Override
    public boolean removeRate(String key) {
      return throttle.blocking().removeRate(key);
    }

    @Override
    public void setTemplate(String pattern, double ratePerSecond, double burst) {
      throttle.blocking().setTemplate(pattern, ratePerSecond, burst);
    }

    @Override
    public boolean removeTemplate(String pattern) {
      return throttle.blocking().removeTemplate(pattern);
    }

    @Override
    public boolean tryConsume(List<String> keys) {
      return throttle.blocking().tryConsume(keys);
    }

    @Override
    public Decision consume(Map<String, Long> costs) {
      return throttle.blocking().consume(costs);
    }

    @Override
    public Decision peek(Map<String, Long> costs) {
      return throttle.blocking().peek(costs);
    }

    @Override
    public Optional<Limits.Snapshot> snapshot(String key) {
      return throttle.blocking().snapshot(key);
    }
  }

  @AutoClose private static final StandingRedis redis = StandingRedis.start();

  @Nested
  final class InCore extends LimitsContract {
    private final HandClock clock = new HandClock(ManualClock.create());

    @Override
    protected Keys throttle() {
      return new CoreKeys(Limits.create(clock.clock()));
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
      return new AnyShared(new InMemoryLimits(CachedLimits.NONE, clock.clock()).throttle());
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
      return new AnyShared(limits.throttle());
    }

    @Override
    protected ContractClock clock() {
      return redis;
    }
  }
}
