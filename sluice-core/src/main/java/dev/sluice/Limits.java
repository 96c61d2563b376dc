package dev.sluice;

import dev.sluice.internal.limits.AtomicLimits;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Token buckets by key: one request may need tokens of several keys, and gets all or none.
 *
 * <p>A key is throttled if a rate was {@link #setRate set} for it, or a {@link #setTemplate
 * template} matches it; all other keys pass, and are {@link #unknownNames counted}, unless the
 * throttle is {@link #createStrict strict}. Rates and bursts may be fractions, costs are whole
 * tokens. A rate of 0 never refills, a burst below 1 grants nothing.
 *
 * <p>Thread-safe. Nothing waits for tokens and nothing runs in the background. A call for one key
 * is lock-free, unless another call for several keys, or a change of the rate, is just being noted;
 * it then waits for those few instructions. A boolean call for one key allocates nothing once the
 * key has its bucket. A refusal changes no key's level. In every window of length w a key grants at
 * most {@code burst + rate · w}, whatever the interleaving of threads and clock readings, and calls
 * for several keys are atomic: nobody sees one key charged and another not yet.
 *
 * <p>A bucket that a template made and that is full again may vanish and come back, which shows in
 * {@link #size} and {@link #stats} only; so memory follows the keys in use.
 *
 * <p>Not promised: fairness between callers; the window bound across a {@link #removeRate} or
 * {@link #removeTemplate}, which forget what was consumed; a finding of all keys at one instant by
 * {@link #stats}.
 *
 * <p>Methods without an instant read the throttle's clock. Those with {@code nowNanos} take a
 * reading of that clock from the caller; a late or even backward reading is safe and at worst
 * denies.
 *
 * <pre>{@code
 * Throttle throttle = Throttle.create();
 * throttle.setRate("provider:mail", 5, 10);
 * throttle.setTemplate("tenant:*", 0.5, 3);
 * if (throttle.tryAcquire(List.of("provider:mail", "tenant:" + tenant))) {
 *   send(mail);
 * }
 * }</pre>
 *
 * @since 0.1
 */
public sealed interface Limits permits AtomicLimits {

  /**
   * A throttle without any rates.
   *
   * @return a new throttle on the system clock
   */
  static Limits create() {
    return create(NanoClock.system());
  }

  /**
   * A throttle without any rates.
   *
   * @param clock where its time comes from
   * @return a new throttle
   */
  static Limits create(NanoClock clock) {
    return new AtomicLimits(Objects.requireNonNull(clock, "clock"), false);
  }

  /**
   * Creates a throttle that refuses unknown keys, so that a misspelt one is noticed: calls that
   * take from or peek at a key without a rate throw {@link IllegalArgumentException} and change
   * nothing.
   *
   * @param clock where its time comes from
   * @return a new throttle without any rates
   */
  static Limits createStrict(NanoClock clock) {
    return new AtomicLimits(Objects.requireNonNull(clock, "clock"), true);
  }

  /**
   * Sets the rate of one key, whatever the templates say.
   *
   * <p>A key that had no bucket gets a full one. One that had keeps its tokens, clamped to the new
   * burst and never more than before; equal values change nothing.
   *
   * @param key not empty
   * @param ratePerSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range
   */
  void setRate(String key, double ratePerSecond, double burst);

  /**
   * {@link #setRate(String, double, double)} at a given instant, or at the clock's if that is
   * later.
   *
   * @param key not empty
   * @param ratePerSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   * @param nowNanos a reading of the throttle's clock
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range
   */
  void setRate(String key, double ratePerSecond, double burst, long nowNanos);

  /**
   * {@link #setRate(String, double, double)}, for a key whose tokens may all have been consumed
   * where nobody remembers it, such as before a restart.
   *
   * <p>A key that had no bucket gets an empty one: at first it has what accrues from now on, and a
   * rate of 0 never grants again. So the window bound holds over what is not remembered.
   *
   * @param key not empty
   * @param ratePerSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range
   */
  void restoreRate(String key, double ratePerSecond, double burst);

  /**
   * Removes a rate that was set for one key; what it had consumed is forgotten.
   *
   * <p>If a template matches the key, its bucket goes over to that with its tokens.
   *
   * @param key not empty
   * @return whether there was such a rate
   */
  boolean removeRate(String key);

  /**
   * Gives every key that begins alike a bucket of its own, on first use.
   *
   * <p>Of several templates for a key that with the longest prefix counts. Setting, changing or
   * removing one moves the buckets it concerns to their new rate with their tokens, clamped.
   *
   * @param pattern a prefix and an asterisk, such as {@code tenant:*}
   * @param ratePerSecond as for {@link #setRate}
   * @param burst as for {@link #setRate}
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range, or
   *     the pattern has no asterisk at its end or another one elsewhere
   */
  void setTemplate(String pattern, double ratePerSecond, double burst);

  /**
   * {@link #setTemplate}, for keys whose tokens may all have been consumed where nobody remembers
   * it, such as before a restart.
   *
   * <p>Every key without a bucket is as if it had been empty at this call, whenever its bucket is
   * made. Changing the template, or setting a narrower one or a rate for one of its keys, keeps
   * that: no key gains tokens by it before the time at which they would have been there anyway.
   *
   * @param pattern a prefix and an asterisk, such as {@code tenant:*}
   * @param ratePerSecond as for {@link #restoreRate}
   * @param burst as for {@link #restoreRate}
   * @throws IllegalArgumentException if an argument is negative, not a number or out of range, or
   *     the pattern has no asterisk at its end or another one elsewhere
   */
  void restoreTemplate(String pattern, double ratePerSecond, double burst);

  /**
   * Removes a template; keys that no other one matches pass from now on.
   *
   * @param pattern as it was set
   * @return whether there was such a template
   */
  boolean removeTemplate(String pattern);

  /**
   * Takes one token of {@code key} if it is there.
   *
   * @param key not empty
   * @return whether it was, or the key has no rate
   */
  default boolean tryAcquire(String key) {
    return tryAcquire(key, 1);
  }

  /**
   * Takes {@code cost} tokens of {@code key} if all are there; else changes nothing.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @return whether they were, or the key has no rate
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  boolean tryAcquire(String key, long cost);

  /**
   * {@link #tryAcquire(String, long)} at a given instant.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return whether they were, or the key has no rate
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  boolean tryAcquire(String key, long cost, long nowNanos);

  /**
   * Takes one token of each of {@code keys} if all are there; else changes nothing.
   *
   * @param keys none of them empty; one named twice counts once
   * @return whether they were
   * @throws IllegalArgumentException if a key is empty
   */
  default boolean tryAcquire(Collection<String> keys) {
    return tryAcquire(keys, 1);
  }

  /**
   * Takes {@code cost} tokens of each of {@code keys} if all are there; else changes nothing.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @return whether they were
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  boolean tryAcquire(Collection<String> keys, long cost);

  /**
   * {@link #tryAcquire(Collection, long)} at a given instant.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return whether they were
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  boolean tryAcquire(Collection<String> keys, long cost, long nowNanos);

  /**
   * Takes from each key its cost if all are there; else changes nothing.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return whether they were
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  boolean tryAcquire(Map<String, Long> costs);

  /**
   * {@link #tryAcquire(Map)} at a given instant.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @param nowNanos a reading of the throttle's clock
   * @return whether they were
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  boolean tryAcquire(Map<String, Long> costs, long nowNanos);

  /**
   * Takes one token of {@code key} if it is there; else says why not.
   *
   * @param key not empty
   * @return the decision
   */
  default Decision decide(String key) {
    return decide(key, 1);
  }

  /**
   * Takes {@code cost} tokens of {@code key} if all are there; else says why not.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  Decision decide(String key, long cost);

  /**
   * {@link #decide(String, long)} at a given instant.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  Decision decide(String key, long cost, long nowNanos);

  /**
   * Takes one token of each of {@code keys} if all are there; else says why not.
   *
   * @param keys none of them empty; one named twice counts once
   * @return the decision
   * @throws IllegalArgumentException if a key is empty
   */
  default Decision decide(Collection<String> keys) {
    return decide(keys, 1);
  }

  /**
   * Takes {@code cost} tokens of each of {@code keys} if all are there; else says why not.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  Decision decide(Collection<String> keys, long cost);

  /**
   * {@link #decide(Collection, long)} at a given instant.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  Decision decide(Collection<String> keys, long cost, long nowNanos);

  /**
   * Takes from each key its cost if all are there; else says why not.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  Decision decide(Map<String, Long> costs);

  /**
   * {@link #decide(Map)} at a given instant.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  Decision decide(Map<String, Long> costs, long nowNanos);

  /**
   * What {@link #decide(String)} would answer; changes nothing.
   *
   * @param key not empty
   * @return the decision
   */
  default Decision peek(String key) {
    return peek(key, 1);
  }

  /**
   * What {@link #decide(String, long)} would answer; changes nothing.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  Decision peek(String key, long cost);

  /**
   * {@link #peek(String, long)} at a given instant.
   *
   * @param key not empty
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or the key empty
   */
  Decision peek(String key, long cost, long nowNanos);

  /**
   * What {@link #decide(Collection)} would answer; changes nothing.
   *
   * @param keys none of them empty; one named twice counts once
   * @return the decision
   * @throws IllegalArgumentException if a key is empty
   */
  default Decision peek(Collection<String> keys) {
    return peek(keys, 1);
  }

  /**
   * What {@link #decide(Collection, long)} would answer; changes nothing.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  Decision peek(Collection<String> keys, long cost);

  /**
   * {@link #peek(Collection, long)} at a given instant.
   *
   * @param keys none of them empty; one named twice counts once
   * @param cost whole tokens, at least 1
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if {@code cost} is less than 1 or a key empty
   */
  Decision peek(Collection<String> keys, long cost, long nowNanos);

  /**
   * What {@link #decide(Map)} would answer; changes nothing.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  Decision peek(Map<String, Long> costs);

  /**
   * {@link #peek(Map)} at a given instant.
   *
   * @param costs by key, whole tokens, at least 1 each
   * @param nowNanos a reading of the throttle's clock
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a key empty
   */
  Decision peek(Map<String, Long> costs, long nowNanos);

  /**
   * Forgets the buckets that templates made and that are full again.
   *
   * <p>New buckets make room little by little anyway; this does it all at once.
   *
   * @return how many
   */
  long evictIdle();

  /**
   * {@link #evictIdle()} at a given instant.
   *
   * @param nowNanos a reading of the throttle's clock
   * @return how many
   */
  long evictIdle(long nowNanos);

  /**
   * How things stand with one key.
   *
   * @param key not empty
   * @return empty if the key has no rate
   */
  Optional<Snapshot> stats(String key);

  /**
   * {@link #stats(String)} at a given instant.
   *
   * @param key not empty
   * @param nowNanos a reading of the throttle's clock
   * @return empty if the key has no rate
   */
  Optional<Snapshot> stats(String key, long nowNanos);

  /**
   * How things stand with all keys that have a bucket, each at its own instant.
   *
   * @return in no particular order
   */
  List<Snapshot> stats();

  /**
   * Whether a request for this key takes up no more memory than there is already.
   *
   * @param key not empty
   * @return whether it has a bucket
   */
  boolean hasBucket(String key);

  /**
   * Returns how often calls named a key without a rate. Such a key passes, or is refused if this
   * throttle is strict. Peeks that passed are not counted.
   *
   * @return the count at the time of the call
   */
  long unknownNames();

  /**
   * How many keys have a bucket.
   *
   * @return a count that others may be changing
   */
  int size();

  /**
   * How things stand with one key.
   *
   * @param key the key
   * @param level tokens there, fractions included
   * @param ratePerSecond tokens that accrue in one second
   * @param burst the most tokens held
   */
  record Snapshot(String key, double level, double ratePerSecond, double burst) {}
}
