package dev.sluice.governor;

/** One request in the line of a model. */
final class Waiting {
  final Demand demand;
  final long since;
  final long number;

  /** Where it stands among those of its class: whoever has the least goes first. */
  final long tag;

  boolean inLine = true;

  Waiting(Demand demand, long since, long number, long tag) {
    this.demand = demand;
    this.since = since;
    this.number = number;
    this.tag = tag;
  }

  /** Before {@code other}, in one class. */
  static int order(Waiting one, Waiting other) {
    int byTag = Long.compare(one.tag, other.tag);
    return byTag != 0 ? byTag : Long.compare(one.number, other.number);
  }
}
