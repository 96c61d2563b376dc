package dev.sluice.client;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The tokens reserved for a model call in progress; passed to {@link GovernorClient.ModelCall}.
 * Thread-safe.
 *
 * @since 0.1
 */
public final class TokenGrant {
  private static final long UNKNOWN = -1;

  private final GovernorClient governor;
  private final TokenDecision.Granted granted;
  private final AtomicLong used = new AtomicLong(UNKNOWN);

  TokenGrant(GovernorClient governor, TokenDecision.Granted granted) {
    this.governor = governor;
    this.granted = granted;
  }

  /**
   * Returns the model to call; of a route, the chosen one.
   *
   * @return the model's name
   */
  public String model() {
    return granted.model();
  }

  /**
   * Returns the tokens that the call may use.
   *
   * @return tokens; fewer than requested if the model scales by class
   */
  public long tokens() {
    return granted.tokens();
  }

  /**
   * Reports the tokens used so far; the last report counts.
   *
   * @param tokens 0 if none
   */
  public void used(long tokens) {
    if (tokens < 0) {
      throw new IllegalArgumentException("tokens must not be negative, but was " + tokens);
    }
    used.set(tokens);
  }

  /** Prolongs the reservation by its full timeout, for a call that takes longer. */
  public void extend() {
    governor.extend(granted.reservation());
  }

  String reservation() {
    return granted.reservation();
  }

  /** Returns the reported usage, or {@code otherwise} without a report. */
  long usedOr(long otherwise) {
    long reported = used.get();
    return reported == UNKNOWN ? otherwise : reported;
  }
}
