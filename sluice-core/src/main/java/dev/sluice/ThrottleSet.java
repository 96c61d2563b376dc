package dev.sluice;

import java.util.List;

/** The throttle keys that some items have in common; interned, so that equal means identical. */
final class ThrottleSet {
  static final ThrottleSet EMPTY = new ThrottleSet(List.of(), new Gate[0]);

  /** In the order of {@link #names}. */
  final Gate[] gates;

  final List<String> names;

  /** Sub-queues that use this set. */
  int users;

  ThrottleSet(List<String> names, Gate[] gates) {
    this.names = names;
    this.gates = gates;
  }

  @Override
  public String toString() {
    return names.toString();
  }
}
