package dev.sluice;

import org.jspecify.annotations.Nullable;

/** What a cell holds: first what never changes, last the word. */
abstract sealed class CellState extends CellPadding implements Successor permits Cell {
  final Axis axis;

  // Copies out of the axis: a grant touches no other object.
  final Scale scale;
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

  /** Written before the seal by the holder of the line's lock, read after it. */
  long sealedState;

  CellState(Axis axis) {
    this.axis = axis;
    this.scale = axis.scale();
    this.epochNanos = axis.epochNanos();
    this.horizonNanos = scale.horizonNanos();
    this.stepNanos = scale.stepNanos();
    this.unitsPerStep = scale.unitsPerStep();
    this.unitsPerToken = scale.unitsPerToken();
    this.capacity = scale.capacity();
    this.capacityUnits = scale.capacityUnits();
  }
}
