package dev.sluice.internal.bucket;

import org.jspecify.annotations.Nullable;

/** The fields of a cell: first those that never change, last the word. */
abstract sealed class CellState extends CellPadding implements CellSuccessor permits Cell {
  public final EpochScale epochScale;

  // Copies out of the epoch scale: a grant touches no other object.
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

  /** Written before the seal by the holder of the list's lock, read after it. */
  long sealedState;

  CellState(EpochScale epochScale) {
    this.epochScale = epochScale;
    this.scale = epochScale.scale();
    this.epochNanos = epochScale.epochNanos();
    this.horizonNanos = scale.horizonNanos();
    this.stepNanos = scale.stepNanos();
    this.unitsPerStep = scale.unitsPerStep();
    this.unitsPerToken = scale.unitsPerToken();
    this.capacity = scale.capacity();
    this.capacityUnits = scale.capacityUnits();
  }
}
