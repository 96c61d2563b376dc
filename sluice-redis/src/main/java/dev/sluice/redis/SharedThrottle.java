package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limits;
import dev.sluice.redis.limits.CostChecks;
import dev.sluice.redis.limits.Futures;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Keyed buckets that a fleet shares; what {@link Limits} promises, over all its nodes.
 *
 * <p>Rates and templates belong to the fleet: one that is set at a node holds there at once and
 * everywhere within about a second, and outlasts the node. While two nodes know different rates the
 * newer one counts. A request over several keys takes all or nothing, in one round trip. In a
 * cluster the keys of one request must lie in one slot, which a hash tag brings about ({@code
 * {acme}:requests} and {@code {acme}:bytes}); other requests are refused with {@link
 * IllegalArgumentException}, or done slot by slot by {@link SharedLimitOptions#reserveAcrossSlots}.
 *
 * <p>Thread-safe; futures are as those of {@link SharedTokenBucket}.
 *
 * @since 0.1
 */
public interface SharedThrottle {

  /**
   * Sets the rate of one key, whatever the templates say; see {@link Limits#setRate}.
   *
   * <p>In an outage it holds at this node at once, and for the fleet when Redis is back.
   *
   * @param key not empty
   * @param ratePerSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   * @return completes when it holds here and is stored, or noted to be stored in an outage; fails
   *     with {@link RedisUnavailableException} if Redis was asked and did not confirm it: then it
   *     holds here, and is tried again
   * @throws IllegalStateException if the fleet has 10,000 rules already
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range
   */
  CompletableFuture<Void> setRate(String key, double ratePerSecond, double burst);

  /**
   * Removes a rate that was set for one key; see {@link Limits#removeRate}.
   *
   * @param key not empty
   * @return whether there was such a rate
   */
  CompletableFuture<Boolean> removeRate(String key);

  /**
   * Gives every key that begins alike a bucket of its own; see {@link Limits#setTemplate}.
   *
   * @param pattern a prefix and an asterisk, such as {@code tenant:*}
   * @param ratePerSecond as for {@link #setRate}
   * @param burst as for {@link #setRate}
   * @return as for {@link #setRate}
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range, or
   *     the pattern has no asterisk at its end or another one elsewhere
   */
  CompletableFuture<Void> setTemplate(String pattern, double ratePerSecond, double burst);

  /**
   * Removes a template; keys that no other one matches pass from now on.
   *
   * @param pattern as it was set
   * @return whether there was such a template
   */
  CompletableFuture<Boolean> removeTemplate(String pattern);

  /**
   * The rates and templates that this node knows.
   *
   * @return by key
   */
  List<Rule> rules();

  /**
   * Takes one token of {@code key} if it is there.
   *
   * @param key not empty
   * @return whether it was, or the key has no rate
   */
  default CompletableFuture<Boolean> tryConsume(String key) {
    return tryConsume(Map.of(key, 1L));
  }

  /**
   * Takes one token of each of {@code keys} if all are there; else changes nothing.
   *
   * @param keys none of them empty; one named twice counts once
   * @return whether they were
   */
  default CompletableFuture<Boolean> tryConsume(Collection<String> keys) {
    return tryConsume(CostChecks.ofOne(keys));
  }

  /**
   * Takes from each key its cost if all are there; else changes nothing.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return whether they were
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  CompletableFuture<Boolean> tryConsume(Map<String, Long> costs);

  /**
   * Takes one token of {@code key} if it is there; else says why not.
   *
   * @param key not empty
   * @return the decision
   */
  default CompletableFuture<Decision> consume(String key) {
    return consume(Map.of(key, 1L));
  }

  /**
   * Takes one token of each of {@code keys} if all are there; else says why not.
   *
   * @param keys none of them empty; one named twice counts once
   * @return the decision
   */
  default CompletableFuture<Decision> consume(Collection<String> keys) {
    return consume(CostChecks.ofOne(keys));
  }

  /**
   * Takes from each key its cost if all are there; else says why not.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  CompletableFuture<Decision> consume(Map<String, Long> costs);

  /**
   * What {@link #consume(Map)} would answer; changes nothing.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  CompletableFuture<Decision> peek(Map<String, Long> costs);

  /**
   * How things stand with one key.
   *
   * @param key not empty
   * @return empty if the key has no rate
   */
  CompletableFuture<Optional<Limits.Snapshot>> snapshot(String key);

  /**
   * The same throttle for callers that wait for each answer.
   *
   * @return the view
   */
  default Blocking blocking() {
    return new Blocking(this);
  }

  /** A throttle whose methods return when they are answered, which is within its time-out. */
  final class Blocking {
    private final SharedThrottle throttle;

    Blocking(SharedThrottle throttle) {
      this.throttle = throttle;
    }

    /**
     * {@link SharedThrottle#setRate}.
     *
     * @param key not empty
     * @param ratePerSecond tokens that accrue in one second
     * @param burst the most tokens held
     */
    public void setRate(String key, double ratePerSecond, double burst) {
      Futures.done(throttle.setRate(key, ratePerSecond, burst));
    }

    /**
     * {@link SharedThrottle#removeRate}.
     *
     * @param key not empty
     * @return whether there was such a rate
     */
    public boolean removeRate(String key) {
      return Futures.await(throttle.removeRate(key));
    }

    /**
     * {@link SharedThrottle#setTemplate}.
     *
     * @param pattern a prefix and an asterisk
     * @param ratePerSecond tokens that accrue in one second
     * @param burst the most tokens held
     */
    public void setTemplate(String pattern, double ratePerSecond, double burst) {
      Futures.done(throttle.setTemplate(pattern, ratePerSecond, burst));
    }

    /**
     * {@link SharedThrottle#removeTemplate}.
     *
     * @param pattern as it was set
     * @return whether there was such a template
     */
    public boolean removeTemplate(String pattern) {
      return Futures.await(throttle.removeTemplate(pattern));
    }

    /**
     * {@link SharedThrottle#tryConsume(String)}.
     *
     * @param key not empty
     * @return whether the token was there
     */
    public boolean tryConsume(String key) {
      return Futures.await(throttle.tryConsume(key));
    }

    /**
     * {@link SharedThrottle#tryConsume(Collection)}.
     *
     * @param keys none of them empty
     * @return whether all tokens were there
     */
    public boolean tryConsume(Collection<String> keys) {
      return Futures.await(throttle.tryConsume(keys));
    }

    /**
     * {@link SharedThrottle#tryConsume(Map)}.
     *
     * @param costs by key
     * @return whether all tokens were there
     */
    public boolean tryConsume(Map<String, Long> costs) {
      return Futures.await(throttle.tryConsume(costs));
    }

    /**
     * {@link SharedThrottle#consume(String)}.
     *
     * @param key not empty
     * @return the decision
     */
    public Decision consume(String key) {
      return Futures.await(throttle.consume(key));
    }

    /**
     * {@link SharedThrottle#consume(Collection)}.
     *
     * @param keys none of them empty
     * @return the decision
     */
    public Decision consume(Collection<String> keys) {
      return Futures.await(throttle.consume(keys));
    }

    /**
     * {@link SharedThrottle#consume(Map)}.
     *
     * @param costs by key
     * @return the decision
     */
    public Decision consume(Map<String, Long> costs) {
      return Futures.await(throttle.consume(costs));
    }

    /**
     * {@link SharedThrottle#peek}.
     *
     * @param costs by key
     * @return the decision
     */
    public Decision peek(Map<String, Long> costs) {
      return Futures.await(throttle.peek(costs));
    }

    /**
     * {@link SharedThrottle#snapshot}.
     *
     * @param key not empty
     * @return empty if the key has no rate
     * @throws RedisUnavailableException if Redis does not answer
     */
    public Optional<Limits.Snapshot> snapshot(String key) {
      return Futures.await(throttle.snapshot(key));
    }
  }
}
