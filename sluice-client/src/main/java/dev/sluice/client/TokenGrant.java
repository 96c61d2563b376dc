package dev.sluice.client;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Tokens that are reserved for a call of a model, while it is made; from {@link
 * GovernorClient#call}. For any number of threads.
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
   * Which model to call; of a route, the one that was chosen.
   *
   * @return its name
   */
  public String model() {
    return granted.model();
  }

  /**
   * How many tokens the call may use.
   *
   * @return less than asked for if the model scales by class
   */
  public long tokens() {
    return granted.tokens();
  }

  /**
   * Says what was used so far; the last word counts.
   *
   * @param tokens 0 if nothing was
   */
  public void used(long tokens) {
    if (tokens < 0) {
      throw new IllegalArgumentException("tokens must not be negative: tokens=" + tokens);
    }
    used.set(tokens);
  }

  /** The call goes on: the reservation lives as long again. */
  public void extend() {
    governor.extend(granted.reservation());
  }

  String reservation() {
    return granted.reservation();
  }

  /** What was said to be used, or else that. */
  long usedOr(long otherwise) {
    long said = used.get();
    return said == UNKNOWN ? otherwise : said;
  }
}
