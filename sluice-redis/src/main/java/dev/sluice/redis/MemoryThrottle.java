package dev.sluice.redis;

import dev.sluice.Throttle;
import dev.sluice.ThrottleDecision;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;

/** A throttle of this process alone. */
final class MemoryThrottle implements SharedThrottle {
  private final Throttle throttle;
  private final Map<String, Rule> rules = new ConcurrentSkipListMap<>();

  MemoryThrottle(Throttle throttle) {
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
    return Answers.after(() -> {});
  }

  @Override
  public synchronized CompletableFuture<Boolean> removeRate(String key) {
    rules.remove(Rule.requireKey(key));
    return Answers.now(throttle.removeRate(key));
  }

  @Override
  public synchronized CompletableFuture<Void> setTemplate(
      String pattern, double ratePerSecond, double burst) {
    throttle.setTemplate(pattern, ratePerSecond, burst);
    rules.put(pattern, new Rule(pattern, ratePerSecond, burst));
    return Answers.after(() -> {});
  }

  @Override
  public synchronized CompletableFuture<Boolean> removeTemplate(String pattern) {
    rules.remove(pattern);
    return Answers.now(throttle.removeTemplate(pattern));
  }

  @Override
  public List<Rule> rules() {
    return List.copyOf(rules.values());
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(Map<String, Long> costs) {
    return Answers.now(throttle.tryConsume(costs));
  }

  @Override
  public CompletableFuture<ThrottleDecision> consume(Map<String, Long> costs) {
    return Answers.now(throttle.consume(costs));
  }

  @Override
  public CompletableFuture<ThrottleDecision> peek(Map<String, Long> costs) {
    return Answers.now(throttle.peek(costs));
  }

  @Override
  public CompletableFuture<Optional<Throttle.Snapshot>> snapshot(String key) {
    return Answers.now(throttle.snapshot(key));
  }
}
