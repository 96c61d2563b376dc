package dev.sluice;

import org.jspecify.annotations.Nullable;

/** What a cell holds: first what never changes, last the word. */
abstract sealed class CellState extends CellPadding implements Successor permits Cell {
  final Scale scale;
  final boolean first;

  /** When this cell came into service. */
  final long bornNanos;

  // Copies out of the scale: a grant touches no other object.
  final long epochNanos;
  final long horizonNanos;
  final long stepNanos;
  final long unitsPerStep;
  final long unitsPerToken;
  final long capacity;
  final long capacityUnits;

  /** Atomic; see the layout in {@link Cell}. */
  long word;

  /** Atomic; set before the seal. */
  @Nullable Successor successor;

  CellState(Scale scale, long epochNanos, long bornNanos, boolean first) {
    this.scale = scale;
    this.first = first;
    this.bornNanos = bornNanos;
    this.epochNanos = epochNanos;
    this.horizonNanos = scale.horizonNanos();
    this.stepNanos = scale.stepNanos();
    this.unitsPerStep = scale.unitsPerStep();
    this.unitsPerToken = scale.unitsPerToken();
    this.capacity = scale.capacity();
    this.capacityUnits = scale.capacityUnits();
  }
}
