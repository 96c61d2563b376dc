package dev.sluice.broker;

/**
 * When an operation on a queue is answered.
 *
 * @since 0.1
 */
public enum Durability {
  /** Once it is on the disk: it survives the end of the machine. The default. */
  ALWAYS,

  /**
   * Once it is handed to the operating system, which is told to put it on the disk a little later:
   * it survives the end of the process, and all but the last moments survive that of the machine.
   */
  INTERVAL,

  /** Once it is handed to the operating system: it survives the end of the process. */
  OS
}
