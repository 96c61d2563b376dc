package dev.sluice.cli;

/** Shows the demo to somebody. */
interface DemoView {

  void begin(int seconds);

  /** Called {@link Demo#TICKS_PER_SECOND} times a second. */
  void tick(int tick, Snapshot snapshot);

  void limitChanged(long perSecond);

  /**
   * Called once, when nobody acts any more.
   *
   * @param legal whether no more was granted than allowed, whenever it was checked
   */
  void end(Snapshot last, boolean legal);
}
