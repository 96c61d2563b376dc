package dev.sluice.redis.limits;

import dev.sluice.Decision;
import dev.sluice.Limits;
import dev.sluice.redis.Rule;
import dev.sluice.redis.SharedThrottle;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;

/** A throttle of this process alone. */
public final class InMemoryKeyedLimits implements SharedThrottle {
  private final Limits throttle;
  private final Map<String, Rule> rules = new ConcurrentSkipListMap<>();

  InMemoryKeyedLimits(Limits throttle) {
    this.throttle = throttle;
  }

  /** For a key whose tokens may all have been consumed where nobody remembers it. */
  synchronized void restore(Rule rule) {
    if (rule.isTemplate()) {
      throttle.restoreTemplate(rule.key(), rule.ratePerSecond(), rule.burst());
    } else {
      throttle.restoreRate(rule.key(), rule.ratePerSecond(), rule.burst());
    }
    rules.put(rule.key(), rule);
  }

  @Override
  public synchronized CompletableFuture<Void> setRate(
      String key, double ratePerSecond, double burst) {
    Rule.requireKey(key);
    throttle.setRate(key, ratePerSecond, burst);
    rules.put(key, new Rule(key, ratePerSecond, burst));
    return Futures.after(() -> {});
  }

  @Override
  public synchronized CompletableFuture<Boolean> removeRate(String key) {
    rules.remove(Rule.requireKey(key));
    return Futures.now(throttle.removeRate(key));
  }

  @Override
  public synchronized CompletableFuture<Void> setTemplate(
      String pattern, double ratePerSecond, double burst) {
    throttle.setTemplate(pattern, ratePerSecond, burst);
    rules.put(pattern, new Rule(pattern, ratePerSecond, burst));
    return Futures.after(() -> {});
  }

  @Override
  public synchronized CompletableFuture<Boolean> removeTemplate(String pattern) {
    rules.remove(pattern);
    return Futures.now(throttle.removeTemplate(pattern));
  }

  @Override
  public List<Rule> rules() {
    return List.copyOf(rules.values());
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(Map<String, Long> costs) {
    return Futures.now(throttle.tryAcquire(costs));
  }

  @Override
  public CompletableFuture<Decision> consume(Map<String, Long> costs) {
    return Futures.now(throttle.decide(costs));
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return Futures.now(throttle.peek(costs));
  }

  @Override
  public CompletableFuture<Optional<Limits.Snapshot>> snapshot(String key) {
    return Futures.now(throttle.stats(key));
  }
}
