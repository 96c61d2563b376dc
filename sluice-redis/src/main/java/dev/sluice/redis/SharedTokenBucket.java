package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.redis.limits.Futures;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A token bucket that a fleet shares; what {@link TokenBucket} promises, over all its nodes.
 *
 * <p>In every window of length w all nodes together are granted at most {@code capacity + rate ·
 * w}, counted in the time of the Redis server. The grid of a {@link Limit.Strict} starts at the
 * Unix epoch of that time. A bucket whose key is lost, by a restart without data or a failover,
 * starts full: each such loss grants at most one capacity more.
 *
 * <p>Thread-safe. But for {@link #acquire}, no future takes longer than the time-out of its {@link
 * SharedLimits}: if Redis does not answer, decisions follow the {@link OutageMode} and everything
 * else fails with {@link RedisUnavailableException}. Futures complete on a thread of the library;
 * dependents that block belong on an executor of their own.
 *
 * @since 0.1
 */
public interface SharedTokenBucket {

  /**
   * What the fleet calls it.
   *
   * @return the name
   */
  String name();

  /**
   * What it allows, as far as this node knows.
   *
   * @return the present limit
   */
  Limit limit();

  /**
   * Takes one token if it is there.
   *
   * @return whether it was
   */
  default CompletableFuture<Boolean> tryAcquire() {
    return tryAcquire(1);
  }

  /**
   * Takes {@code tokens} if all are there; else takes nothing.
   *
   * @param tokens how many; 0 is always granted
   * @return whether they were there
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Boolean> tryAcquire(long tokens);

  /**
   * Takes {@code tokens} if all are there and says what is left; else says when to come back, to
   * the microsecond.
   *
   * @param tokens how many; 0 is always granted
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Decision> decide(long tokens);

  /**
   * What {@link #decide} would answer now; takes nothing.
   *
   * @param tokens how many
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Decision> peek(long tokens);

  /**
   * Takes {@code tokens} as soon as they are there, if that is before {@code maxWait} is over.
   *
   * <p>Those who wait for this object are served first come, first served, and ask Redis one at a
   * time; between nodes there is no order, and {@code tryAcquire} may overtake. Tokens that come
   * through this object are noticed at once, those that come through another within about a second.
   * Cancelling the future leaves the line. If it is cancelled, or its time is over, just as the
   * tokens are granted, they are refunded.
   *
   * <p>Nobody waits in Redis for a limit that time does not refill ({@link Limit.Manual}): if the
   * tokens are not there, the answer is false, even if a replenishment should come later.
   *
   * @param tokens how many
   * @param maxWait the longest wait, not negative
   * @return whether they were taken; false at once if they are more than the capacity; fails with
   *     {@link java.util.concurrent.RejectedExecutionException} if 10,000 wait already in Redis
   * @throws IllegalArgumentException if an argument is negative
   */
  CompletableFuture<Boolean> acquire(long tokens, Duration maxWait);

  /**
   * Whole tokens there now; those out on lease are not.
   *
   * @return tokens, from 0 to the capacity
   */
  CompletableFuture<Long> available();

  /**
   * How long until the bucket is full if nobody touches it.
   *
   * @return zero if it is full; empty if time alone will not fill it
   */
  CompletableFuture<Optional<Duration>> timeToFull();

  /**
   * Adds tokens, up to the capacity.
   *
   * @param tokens how many, not negative
   * @return completes when they are there
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Void> replenish(long tokens);

  /**
   * Fills the bucket, but for what is out on lease.
   *
   * @return completes when it is full
   */
  CompletableFuture<Void> reset();

  /**
   * Changes the limit for the whole fleet; the tokens stay, up to the new capacity.
   *
   * <p>Holds at once where it is called, and everywhere within about a second. It outlasts the
   * limits in the code of other nodes, until the next change.
   *
   * @param limit the new limit
   * @return completes when the fleet has it, or when it is noted to be told in an outage
   * @throws IllegalArgumentException if no exact units fit the limit; nothing changes
   * @throws IllegalStateException if the fleet has 10,000 rules already
   */
  CompletableFuture<Void> reconfigure(Limit limit);

  /**
   * The same bucket for callers that wait for each answer.
   *
   * @return the view
   */
  default Blocking blocking() {
    return new Blocking(this);
  }

  /** A bucket whose methods return when they are answered, which is within its time-out. */
  final class Blocking {
    private final SharedTokenBucket bucket;

    Blocking(SharedTokenBucket bucket) {
      this.bucket = bucket;
    }

    /**
     * {@link SharedTokenBucket#tryAcquire()}.
     *
     * @return whether the token was there
     */
    public boolean tryAcquire() {
      return tryAcquire(1);
    }

    /**
     * {@link SharedTokenBucket#tryAcquire(long)}.
     *
     * @param tokens how many
     * @return whether they were there
     */
    public boolean tryAcquire(long tokens) {
      return Futures.await(bucket.tryAcquire(tokens));
    }

    /**
     * {@link SharedTokenBucket#decide}.
     *
     * @param tokens how many
     * @return the decision
     */
    public Decision decide(long tokens) {
      return Futures.await(bucket.decide(tokens));
    }

    /**
     * {@link SharedTokenBucket#peek}.
     *
     * @param tokens how many
     * @return the decision
     */
    public Decision peek(long tokens) {
      return Futures.await(bucket.peek(tokens));
    }

    /**
     * {@link SharedTokenBucket#acquire}.
     *
     * @param tokens how many
     * @param maxWait the longest wait, not negative
     * @return whether they were taken in time; if not, nothing was
     * @throws InterruptedException if interrupted while waiting; nothing is taken then
     */
    public boolean acquire(long tokens, Duration maxWait) throws InterruptedException {
      return Futures.awaitInterruptibly(bucket.acquire(tokens, maxWait));
    }

    /**
     * {@link SharedTokenBucket#available}.
     *
     * @return tokens
     * @throws RedisUnavailableException if Redis does not answer
     */
    public long available() {
      return Futures.await(bucket.available());
    }

    /**
     * {@link SharedTokenBucket#timeToFull}.
     *
     * @return zero if it is full; empty if time alone will not fill it
     * @throws RedisUnavailableException if Redis does not answer
     */
    public Optional<Duration> timeToFull() {
      return Futures.await(bucket.timeToFull());
    }

    /**
     * {@link SharedTokenBucket#replenish}.
     *
     * @param tokens how many
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void replenish(long tokens) {
      Futures.done(bucket.replenish(tokens));
    }

    /**
     * {@link SharedTokenBucket#reset}.
     *
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void reset() {
      Futures.done(bucket.reset());
    }

    /**
     * {@link SharedTokenBucket#reconfigure}.
     *
     * @param limit the new limit
     * @throws RedisUnavailableException if Redis does not answer
     */
    public void reconfigure(Limit limit) {
      Futures.done(bucket.reconfigure(limit));
    }
  }
}
