package dev.sluice.governor.engine;

/** One request in the waiting list of a model. */
public final class TokenWaiter {
  public final TokenDemand demand;
  public final long since;
  final long number;

  /** Where it stands among those of its class: whoever has the least goes first. */
  final long tag;

  public boolean inLine = true;

  TokenWaiter(TokenDemand demand, long since, long number, long tag) {
    this.demand = demand;
    this.since = since;
    this.number = number;
    this.tag = tag;
  }

  /** Before {@code other}, in one class. */
  static int order(TokenWaiter one, TokenWaiter other) {
    int byTag = Long.compare(one.tag, other.tag);
    return byTag != 0 ? byTag : Long.compare(one.number, other.number);
  }
}
