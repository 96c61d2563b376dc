package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requireNonNegative;

import dev.sluice.internal.bucket.AtomicTokenBucket;
import dev.sluice.internal.bucket.UnitScale;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A token bucket: grants up to its capacity at once, and over time no more than its rate.
 *
 * <p>Exact, thread-safe and lock-free; {@code tryAcquire} allocates nothing. It never grants more
 * than configured, under any interleaving of threads and clock readings: in every window of length
 * w at most {@code capacity + rate · w}. The bound counts neither tokens that callers add ({@link
 * #replenish}, {@link #reset}) nor a {@link #acquireAsync} of more than the capacity; all others
 * keep it. Waiters are charged when they are granted.
 *
 * <p>Waiters are served first come, first served, and own newly minted tokens: {@code tryAcquire}
 * does not overtake them. A grant orders nothing else: it is no memory barrier between the threads
 * it serves.
 *
 * <p>Methods read the bucket's clock, except where they take {@code nowNanos}: a reading of that
 * clock from the caller. A stale or even backward reading is safe and at worst denies.
 *
 * <pre>{@code
 * TokenBucket bucket = TokenBucket.perSecond(100);
 * if (bucket.tryAcquire()) {
 *   serve(request);
 * }
 * }</pre>
 *
 * @since 0.1
 */
public sealed interface TokenBucket permits AtomicTokenBucket {

  /**
   * A full bucket of so many tokens a second.
   *
   * @param tokens tokens per second and capacity; 0 denies everything
   * @return a new bucket on the system clock
   * @throws IllegalArgumentException if {@code tokens} is negative or out of range
   */
  static TokenBucket perSecond(long tokens) {
    return of(Limit.perSecond(tokens));
  }

  /**
   * A full bucket of so many tokens a minute.
   *
   * @param tokens tokens per minute and capacity; 0 denies everything
   * @return a new bucket on the system clock
   * @throws IllegalArgumentException if {@code tokens} is negative or out of range
   */
  static TokenBucket perMinute(long tokens) {
    return of(Limit.perMinute(tokens));
  }

  /**
   * A full bucket of so many tokens per period.
   *
   * @param tokens tokens per period and capacity; 0 denies everything
   * @param period the period, positive
   * @return a new bucket on the system clock
   * @throws IllegalArgumentException if an argument is out of range
   */
  static TokenBucket per(long tokens, Duration period) {
    return of(Limit.per(tokens, period));
  }

  /**
   * A full bucket with the given limit.
   *
   * @param limit what it allows
   * @return a new bucket on the system clock
   * @throws IllegalArgumentException if no exact scale fits the limit
   */
  static TokenBucket of(Limit limit) {
    return builder().limit(limit).build();
  }

  /**
   * Returns a builder with default settings.
   *
   * @return a new builder
   */
  static Builder builder() {
    return new Builder();
  }

  /**
   * Takes one token if it is available.
   *
   * @return whether it was
   */
  boolean tryAcquire();

  /**
   * Takes {@code tokens} if all are available; otherwise changes nothing.
   *
   * @param tokens how many; 0 is always granted
   * @return whether they were there
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  boolean tryAcquire(long tokens);

  /**
   * {@link #tryAcquire(long)} at a given instant.
   *
   * @param tokens how many; 0 is always granted
   * @param nowNanos a reading of the bucket's clock
   * @return whether they were there
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  boolean tryAcquire(long tokens, long nowNanos);

  /**
   * Takes {@code tokens} if all are available, and returns what is left or when to retry.
   *
   * @param tokens how many; 0 is always granted
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  Decision decide(long tokens);

  /**
   * Returns what {@link #decide(long)} would return now, except for waiters that are due and not
   * yet granted by the timer. Takes nothing.
   *
   * @param tokens how many; 0 would always be granted
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  Decision peek(long tokens);

  /**
   * Takes {@code tokens} as soon as they are available, after all earlier callers.
   *
   * <p>The future completes when they are taken. Canceling it, or completing it in any other way,
   * leaves the waiting list and returns exactly its promised tokens; if they are due already, the
   * caller has them and {@code cancel} returns false. The future fails with {@link
   * AcquireRejectedException} if the list is full. Its dependents run on a thread of the library,
   * or on the thread whose call made the tokens available; those that block belong on an executor
   * of their own ({@code thenRunAsync}).
   *
   * @param tokens how many, possibly more than the capacity: then minted tokens go to this caller
   *     until all are there
   * @return a future that completes with the grant
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  CompletableFuture<Void> acquireAsync(long tokens);

  /**
   * Acquires {@code tokens} as soon as they are available, after earlier callers, if that is within
   * {@code maxWait}.
   *
   * <p>Completes with false at once if the present waiters and limit make the wait longer than
   * {@code maxWait}, and otherwise when {@code maxWait} has passed; nothing is taken then.
   *
   * @param tokens how many
   * @param maxWait the longest wait, not negative
   * @return a future of whether they were taken; fails with {@link AcquireRejectedException} if the
   *     wait cannot begin
   * @throws IllegalArgumentException if an argument is negative
   */
  CompletableFuture<Boolean> acquireAsync(long tokens, Duration maxWait);

  /**
   * Blocks until {@code tokens} are available and takes them.
   *
   * @param tokens how many, possibly more than the capacity
   * @throws InterruptedException if interrupted before the tokens were there; nothing is taken then
   * @throws AcquireRejectedException if the waiting list is full or the bucket denies everything
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  void acquire(long tokens) throws InterruptedException;

  /**
   * Blocks until {@code tokens} are available and takes them, but no longer than {@code maxWait}.
   *
   * <p>Returns at once if the present waiters and limit make the wait longer than {@code maxWait}.
   *
   * @param tokens how many, possibly more than the capacity
   * @param maxWait the longest wait, not negative
   * @return whether they were taken; if not, nothing was
   * @throws InterruptedException if interrupted before the tokens were there; nothing is taken then
   * @throws AcquireRejectedException if the waiting list is full or the bucket denies everything
   * @throws IllegalArgumentException if an argument is negative
   */
  boolean acquire(long tokens, Duration maxWait) throws InterruptedException;

  /**
   * Returns the whole tokens that can be taken now. Other callers may take them at any moment,
   * first of all waiters that are due and that the timer has yet to notice.
   *
   * @return tokens, from 0 to the capacity
   */
  long available();

  /**
   * {@link #available()} at a given instant.
   *
   * @param nowNanos a reading of the bucket's clock
   * @return tokens, from 0 to the capacity
   */
  long available(long nowNanos);

  /**
   * Returns the time until the bucket is full if no caller touches it.
   *
   * @return zero if it is full; empty if time alone will not fill it
   */
  Optional<Duration> timeToFull();

  /**
   * Adds tokens: to the waiters first, then to the bucket, up to its capacity. Also returns tokens
   * that were acquired and not used.
   *
   * <p>Not window-safe: if the bucket has refilled since the tokens were acquired, returning them
   * lets more than {@code capacity + rate · w} through in a window that contains both. Canceling an
   * {@link #acquireAsync} is safe.
   *
   * @param tokens how many, not negative; tokens beyond the capacity are lost
   * @throws IllegalArgumentException if {@code tokens} is negative
   */
  void replenish(long tokens);

  /** Replenishes a whole capacity: waiters get tokens first, then the bucket is filled. */
  void reset();

  /**
   * Changes the limit; the tokens stay, up to the new capacity, and so do the waiters.
   *
   * <p>Atomic: each grant is made under the old limit or under the new one. A limit equal to the
   * present one changes nothing. The conversion never gains and loses less than one unit, which is
   * a whole token where the new limit is strict or manual and less than a billionth of a second of
   * refill elsewhere. The grid of a strict limit starts with the bucket, not with the change. Under
   * {@link Limit.DenyAll} waiters go on waiting.
   *
   * @param limit the new limit
   * @throws IllegalArgumentException if no exact scale fits the limit; nothing changes
   * @throws IllegalStateException if the new limit cannot represent the debt to waiters; nothing
   *     changes
   */
  void reconfigure(Limit limit);

  /**
   * Returns the present limit.
   *
   * @return the present limit
   */
  Limit limit();

  /**
   * Returns how many callers are in the waiting list.
   *
   * @return waiters, at least 0
   */
  int waiters();

  /** Settings of a new bucket. Not thread-safe. */
  final class Builder {
    /** Enough for any sane waiting list, small enough that a stuck one cannot fill the heap. */
    static final int DEFAULT_MAX_WAITERS = 10_000;

    private @Nullable Limit limit;
    private @Nullable Long initialTokens;
    private NanoClock clock = NanoClock.system();
    private int maxWaiters = DEFAULT_MAX_WAITERS;

    private Builder() {}

    /**
     * Sets the limit. Required.
     *
     * @param limit what the bucket allows
     * @return this builder
     */
    public Builder limit(Limit limit) {
      this.limit = Objects.requireNonNull(limit, "limit");
      return this;
    }

    /**
     * Sets the tokens in the bucket at the start. Default: full.
     *
     * @param tokens from 0 to the capacity
     * @return this builder
     */
    public Builder initialTokens(long tokens) {
      this.initialTokens = tokens;
      return this;
    }

    /**
     * Sets the clock. Default: {@link NanoClock#system()}.
     *
     * @param clock the clock
     * @return this builder
     */
    public Builder clock(NanoClock clock) {
      this.clock = Objects.requireNonNull(clock, "clock");
      return this;
    }

    /**
     * Sets how many callers may wait; one more is refused. Default: 10,000.
     *
     * @param waiters at least 0
     * @return this builder
     */
    public Builder maxWaiters(int waiters) {
      requireNonNegative("maxWaiters", waiters);
      this.maxWaiters = waiters;
      return this;
    }

    /**
     * Builds the bucket; it starts now, by its clock.
     *
     * @return a new bucket
     * @throws IllegalArgumentException if a setting breaks its rule; the message names both
     * @throws IllegalStateException if the limit is missing
     */
    public TokenBucket build() {
      if (limit == null) {
        throw new IllegalStateException("limit is required: call limit(...) before build()");
      }
      long initial = initialTokens == null ? limit.capacity() : initialTokens;
      requireNonNegative("initialTokens", initial);
      requireAtMost("initialTokens", initial, limit.capacity());
      return new AtomicTokenBucket(UnitScale.of(limit), initial, clock, maxWaiters);
    }
  }
}
