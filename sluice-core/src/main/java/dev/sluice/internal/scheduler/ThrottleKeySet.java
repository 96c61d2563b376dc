package dev.sluice.internal.scheduler;

import java.util.List;

/** The throttle keys that some items have in common; interned, so that equal means identical. */
final class ThrottleKeySet {
  static final ThrottleKeySet EMPTY = new ThrottleKeySet(List.of(), new LimitGate[0]);

  /** The gates in the order of {@link #names}. */
  final LimitGate[] gates;

  final List<String> names;

  /** Sub-queues that use this set. */
  int users;

  ThrottleKeySet(List<String> names, LimitGate[] gates) {
    this.names = names;
    this.gates = gates;
  }

  @Override
  public String toString() {
    return names.toString();
  }
}
