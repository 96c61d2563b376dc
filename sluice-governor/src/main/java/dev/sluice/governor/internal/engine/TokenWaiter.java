package dev.sluice.governor.internal.engine;

/** A request in the waiting list of a model. */
public final class TokenWaiter {
  public final TokenDemand demand;
  public final long since;
  final long number;

  /** The order within its class: the waiter with the smallest tag is granted first. */
  final long tag;

  /** False once the waiter has left the waiting list. */
  public boolean isWaiting = true;

  TokenWaiter(TokenDemand demand, long since, long number, long tag) {
    this.demand = demand;
    this.since = since;
    this.number = number;
    this.tag = tag;
  }

  /** Compares two waiters of one class by the order of their grants. */
  static int order(TokenWaiter one, TokenWaiter other) {
    int byTag = Long.compare(one.tag, other.tag);
    return byTag != 0 ? byTag : Long.compare(one.number, other.number);
  }
}
