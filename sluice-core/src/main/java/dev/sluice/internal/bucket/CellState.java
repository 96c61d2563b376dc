package dev.sluice.internal.bucket;

import org.jspecify.annotations.Nullable;

/** The fields of a cell: first those that never change, last the word. */
abstract sealed class CellState extends CellPadding implements CellSuccessor permits Cell {
  public final EpochScale axis;

  // Copies out of the axis: a grant touches no other object.
  final UnitScale scale;
  final long epochNanos;
  final long horizonNanos;
  final long stepNanos;
  final long unitsPerStep;
  public final long unitsPerToken;
  final long capacity;
  public final long capacityUnits;

  /** Atomic; see the layout in {@link Cell}. */
  long word;

  /** Atomic; set before the seal. */
  public @Nullable CellSuccessor successor;

  /** Written before the seal by the holder of the line's lock, read after it. */
  long sealedState;

  CellState(EpochScale axis) {
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
