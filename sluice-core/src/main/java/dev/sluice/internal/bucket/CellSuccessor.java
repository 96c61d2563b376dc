package dev.sluice.internal.bucket;

/** The successor of a cell: first the wish for another scale, then the cell that has it. */
public sealed interface CellSuccessor permits CellSuccessor.Change, CellState {

  /**
   * The wish to go on with another scale.
   *
   * @param scale the scale of the next cell
   * @param nowNanos when it was wished: the change takes effect no earlier
   */
  record Change(UnitScale scale, long nowNanos) implements CellSuccessor {}
}
