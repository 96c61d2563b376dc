package dev.sluice;

import dev.sluice.internal.limits.AtomicLimits;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;

/**
 * Named limits that are decided together: a request may need tokens of several limits and gets all
 * or none.
 *
 * <p>A name is limited if a limit was {@link #set} for it or a template matches it. All other names
 * pass and are {@link #unknownNames counted}, unless {@link Builder#strictNames} is on. Rates and
 * bursts may be fractions; costs are whole tokens.
 *
 * <p>Thread-safe. No call waits for tokens and nothing runs in the background. A call for one name
 * is lock-free unless another call for several names, or a change of the limit, is being recorded;
 * it then waits for those few instructions. A boolean call for one name allocates nothing once the
 * name has its bucket. A denial changes no level. In every window of length w a limit grants at
 * most {@code burst + rate · w}, under any interleaving of threads and clock readings. Calls for
 * several names are atomic: no other call sees one of them charged and another not yet.
 *
 * <p>A bucket that a template created and that is full again may be removed and created again,
 * which only {@link #size} and {@link #stats()} show; so memory follows the names in use.
 *
 * <p>Not promised: fairness between callers; the window bound across a {@link #remove}, which
 * forgets what was acquired; that {@link #stats()} sees all limits at the same time.
 *
 * <p>Methods read the clock of these limits. A stale or even backward reading is safe and at worst
 * denies.
 *
 * <pre>{@code
 * Limits limits = Limits.create();
 * limits.set("provider:mail", Limit.perSecond(5, 10));
 * limits.set("tenant:*", Limit.ofRate(0.5, 3));
 * if (limits.tryAcquire(List.of("provider:mail", "tenant:" + tenant))) {
 *   send(mail);
 * }
 * }</pre>
 *
 * @since 0.1
 */
public sealed interface Limits permits AtomicLimits {

  /**
   * Creates an empty set of limits on the system clock.
   *
   * @return new limits
   */
  static Limits create() {
    return builder().build();
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
   * Sets the limit of one name, or, if the name ends in {@code *}, a template for all names with
   * that prefix.
   *
   * <p>A name that had no bucket gets a full one. One that had keeps its tokens, clamped to the new
   * burst and never more than before; an equal limit changes nothing. A limit of its own takes
   * precedence over templates, and a template with a longer prefix over one with a shorter.
   *
   * <p>Under a template every name gets a bucket of its own on first use. Setting, changing or
   * removing a template moves the buckets it concerns to their new limit with their tokens,
   * clamped.
   *
   * @param name not empty; a template has one asterisk, at its end
   * @param limit a {@link Limit.Balanced}, {@link Limit.Rate} or {@link Limit.DenyAll}
   * @throws IllegalArgumentException if the limit is {@link Limit.Strict} or {@link Limit.Manual},
   *     no exact scale fits it, or the name is not valid
   */
  void set(String name, Limit limit);

  /**
   * Sets a limit whose tokens may all have been acquired by a past that is not remembered, such as
   * before a restart.
   *
   * <p>A name that had no bucket gets an empty one: at first it has what accrues from now on, and a
   * limit that does not refill never grants again. So the window bound holds over what is not
   * remembered. Every name without a bucket under a restored template is as if it had been empty at
   * this call, whenever its bucket is made. Changing the template, or setting a narrower one or a
   * limit for one of its names, keeps that: no name gains tokens by it before the time at which it
   * would have had them anyway.
   *
   * @param name as for {@link #set}
   * @param limit as for {@link #set}
   * @throws IllegalArgumentException as for {@link #set}
   */
  void restore(String name, Limit limit);

  /**
   * Removes the limit or the template that was set for {@code name}; what was acquired is
   * forgotten.
   *
   * <p>If a template matches a name that loses its own limit, its bucket moves to the template with
   * its tokens. Names that no other template matches pass from now on.
   *
   * @param name as it was set
   * @return whether there was such a limit or template
   */
  boolean remove(String name);

  /**
   * Returns the limits and templates that are set.
   *
   * @return a snapshot, by name
   */
  SortedMap<String, Limit> limits();

  /**
   * Takes one token of a limit if it is available.
   *
   * @param name not empty
   * @return whether it was, or the name has no limit
   */
  default boolean tryAcquire(String name) {
    return tryAcquire(name, 1);
  }

  /**
   * Takes {@code tokens} of a limit if all are available; otherwise changes nothing.
   *
   * @param name not empty
   * @param tokens at least 1
   * @return whether they were, or the name has no limit
   * @throws IllegalArgumentException if {@code tokens} is less than 1 or the name is empty
   */
  boolean tryAcquire(String name, long tokens);

  /**
   * Takes one token of each limit if all are available; otherwise changes nothing.
   *
   * @param names none of them empty; one named twice counts once
   * @return whether they were
   * @throws IllegalArgumentException if a name is empty
   */
  boolean tryAcquire(Collection<String> names);

  /**
   * Takes its cost from each limit if all tokens are available; otherwise changes nothing.
   *
   * @param costs tokens by name, at least 1 each
   * @return whether they were
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  boolean tryAcquire(Map<String, Long> costs);

  /**
   * Takes {@code tokens} of a limit if all are available, and returns what is left or when to
   * retry.
   *
   * @param name not empty
   * @param tokens at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is less than 1 or the name is empty
   */
  Decision decide(String name, long tokens);

  /**
   * Takes its cost from each limit if all tokens are available, and returns what is left or when to
   * retry.
   *
   * @param costs tokens by name, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  Decision decide(Map<String, Long> costs);

  /**
   * Returns what {@link #decide(String, long)} would return now; takes nothing.
   *
   * @param name not empty
   * @param tokens at least 1
   * @return the decision
   * @throws IllegalArgumentException if {@code tokens} is less than 1 or the name is empty
   */
  Decision peek(String name, long tokens);

  /**
   * Returns what {@link #decide(Map)} would return now; takes nothing.
   *
   * @param costs tokens by name, at least 1 each
   * @return the decision
   * @throws IllegalArgumentException if a cost is less than 1 or a name is empty
   */
  Decision peek(Map<String, Long> costs);

  /**
   * Removes the buckets that templates made and that are full again.
   *
   * <p>Creating buckets removes such ones little by little anyway; this removes all at once.
   *
   * @return how many were removed
   */
  long evictIdle();

  /**
   * Returns the state of one limit.
   *
   * @param name not empty
   * @return empty if the name has no limit
   */
  Optional<LimitStats> stats(String name);

  /**
   * Returns the state of all limits that have a bucket, each at its own instant.
   *
   * @return in no particular order
   */
  List<LimitStats> stats();

  /**
   * Returns whether a name has a bucket, so that a request for it takes up no more memory.
   *
   * @param name not empty
   * @return true if it has one
   */
  boolean hasBucket(String name);

  /**
   * Returns how many names without a limit requests have named. Such a name passes, or is refused
   * with {@link Builder#strictNames}. Peeks that passed are not counted.
   *
   * @return the count at the time of the call
   */
  long unknownNames();

  /**
   * Returns how many names have a bucket.
   *
   * @return a count that other callers may be changing
   */
  int size();

  /** Settings of new limits. Not thread-safe. */
  final class Builder {
    private NanoClock clock = NanoClock.system();
    private boolean strictNames;

    private Builder() {}

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
     * Makes requests that name no limit throw {@link IllegalArgumentException} and change nothing,
     * so that a misspelled name is noticed. By default such a name passes.
     *
     * @return this builder
     */
    public Builder strictNames() {
      this.strictNames = true;
      return this;
    }

    /**
     * Builds the limits.
     *
     * @return new limits, empty
     */
    public Limits build() {
      return new AtomicLimits(clock, strictNames);
    }
  }
}
