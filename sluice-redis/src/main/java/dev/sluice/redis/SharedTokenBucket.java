package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.redis.internal.limits.Futures;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A token bucket that a fleet shares, with the guarantees of {@link TokenBucket} over all nodes.
 *
 * <p>In every window of length w, all nodes together are granted at most {@code capacity + rate ·
 * w}, by the clock of the Redis server. The periods of a {@link Limit.Strict} start at the Unix
 * epoch. A bucket whose key is lost, by a restart without data or a failover, starts full: each
 * loss grants at most one capacity more.
 *
 * <p>Thread-safe. All futures but those of {@link #acquire} complete within the timeout of the
 * {@link SharedLimits}: without an answer from Redis, decisions follow the {@link OutageMode}, and
 * other operations fail with {@link RedisUnavailableException}. Futures complete on a library
 * thread; dependents that block need an executor of their own. Implemented by Sluice only; may gain
 * methods.
 *
 * @since 0.1
 */
public interface SharedTokenBucket {

  /**
   * Returns the name of this bucket in the fleet.
   *
   * @return the name
   */
  String name();

  /**
   * Returns the limit, as far as this node knows.
   *
   * @return the present limit
   */
  Limit limit();

  /**
   * Takes one token if it is available.
   *
   * @return whether it was taken
   */
  default CompletableFuture<Boolean> tryAcquire() {
    return tryAcquire(1);
  }

  /**
   * Takes {@code tokens} if all are available; takes nothing otherwise.
   *
   * @param tokens how many; 0 is always granted
   * @return whether they were taken
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Boolean> tryAcquire(long tokens);

  /**
   * Takes {@code tokens} now or not at all, and returns the full answer; retry-after is exact to
   * the microsecond.
   *
   * @param tokens how many; 0 is always granted
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Decision> decide(long tokens);

  /**
   * Returns the decision that {@link #decide} would make now, without taking tokens.
   *
   * @param tokens how many
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Decision> peek(long tokens);

  /**
   * Takes {@code tokens} as soon as they are available, within {@code maxWait}.
   *
   * <p>Waiters of this object are served first come, first served, with one call to Redis at a
   * time. There is no order between nodes, and {@code tryAcquire} may overtake waiters. Tokens that
   * are replenished through this object are noticed at once, by other nodes within about a second.
   * Canceling the future leaves the waiting list. If it is canceled or times out just as the tokens
   * are granted, they are returned to the bucket.
   *
   * <p>A {@link Limit.Manual} is not waited for, because time does not refill it: the future
   * completes with false, even if tokens are replenished later.
   *
   * @param tokens how many
   * @param maxWait the longest wait, not negative
   * @return whether the tokens were taken in time; false at once if they exceed the capacity; fails
   *     with {@link dev.sluice.AcquireRejectedException} if 10,000 callers of this node wait
   *     already
   * @throws IllegalArgumentException if an argument is negative
   */
  CompletableFuture<Boolean> acquire(long tokens, Duration maxWait);

  /**
   * Returns the whole tokens that are available now, without those in token blocks.
   *
   * @return tokens, from 0 to the capacity
   */
  CompletableFuture<Long> available();

  /**
   * Returns the time until the bucket is full if no tokens are taken.
   *
   * @return zero if it is full; empty if time alone does not fill it
   */
  CompletableFuture<Optional<Duration>> timeToFull();

  /**
   * Adds tokens, up to the capacity. Not window-safe for tokens that were granted before: if the
   * bucket has refilled since, they are granted twice in one window.
   *
   * @param tokens how many, not negative
   * @return completes when they are added
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Void> replenish(long tokens);

  /**
   * Fills the bucket, except for tokens in token blocks.
   *
   * @return completes when it is full
   */
  CompletableFuture<Void> reset();

  /**
   * Changes the limit for the whole fleet. The tokens stay, up to the new capacity.
   *
   * <p>Takes effect at once on this node, and on all nodes within about a second. It takes
   * precedence over the limits that nodes pass to {@link SharedLimits#bucket}, until the next
   * change.
   *
   * @param limit the new limit
   * @return completes when the limit is stored, or noted in an outage
   * @throws IllegalArgumentException if the limit has no exact representation; nothing changes
   * @throws IllegalStateException if the fleet has 10,000 limits already
   */
  CompletableFuture<Void> reconfigure(Limit limit);

  /**
   * Returns a view whose methods wait for their results.
   *
   * @return the view
   */
  default Blocking blocking() {
    return new Blocking(this);
  }

  /**
   * A bucket whose methods wait for their results, for at most the timeout. Thread-safe.
   *
   * @since 0.1
   */
  final class Blocking {
    private final SharedTokenBucket bucket;

    Blocking(SharedTokenBucket bucket) {
      this.bucket = bucket;
    }

    /**
     * Takes one token, as {@link SharedTokenBucket#tryAcquire()}.
     *
     * @return whether it was taken
     */
    public boolean tryAcquire() {
      return tryAcquire(1);
    }

    /**
     * Takes tokens, as {@link SharedTokenBucket#tryAcquire(long)}.
     *
     * @param tokens how many
     * @return whether they were taken
     */
    public boolean tryAcquire(long tokens) {
      return Futures.await(bucket.tryAcquire(tokens));
    }

    /**
     * Takes tokens, as {@link SharedTokenBucket#decide}.
     *
     * @param tokens how many
     * @return the decision
     */
    public Decision decide(long tokens) {
      return Futures.await(bucket.decide(tokens));
    }

    /**
     * Returns the decision without taking tokens, as {@link SharedTokenBucket#peek}.
     *
     * @param tokens how many
     * @return the decision
     */
    public Decision peek(long tokens) {
      return Futures.await(bucket.peek(tokens));
    }

    /**
     * Waits for tokens, as {@link SharedTokenBucket#acquire}.
     *
     * @param tokens how many
     * @param maxWait the longest wait, not negative
     * @return whether they were taken in time
     * @throws InterruptedException if interrupted while waiting; nothing is taken then
     */
    public boolean acquire(long tokens, Duration maxWait) throws InterruptedException {
      return Futures.awaitInterruptibly(bucket.acquire(tokens, maxWait));
    }

    /**
     * Returns the available tokens, as {@link SharedTokenBucket#available}.
     *
     * @return tokens
     * @throws RedisUnavailableException if Redis does not answer
     */
    public long available() {
      return Futures.await(bucket.available());
    }

    /**
     * Returns the time until the bucket is full, as {@link SharedTokenBucket#timeToFull}.
     *
     * @return zero if it is full; empty if time alone will not fill it
     * @throws RedisUnavailableException if Redis does not answer
     */
    public Optional<Duration> timeToFull() {
      return Futures.await(bucket.timeToFull());
    }

    /**
     * Adds tokens, as {@link SharedTokenBucket#replenish}.
     *
     * @param tokens how many
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void replenish(long tokens) {
      Futures.done(bucket.replenish(tokens));
    }

    /**
     * Fills the bucket, as {@link SharedTokenBucket#reset}.
     *
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void reset() {
      Futures.done(bucket.reset());
    }

    /**
     * Changes the limit, as {@link SharedTokenBucket#reconfigure}.
     *
     * @param limit the new limit
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void reconfigure(Limit limit) {
      Futures.done(bucket.reconfigure(limit));
    }
  }
}
