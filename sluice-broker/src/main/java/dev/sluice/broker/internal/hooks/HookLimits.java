package dev.sluice.broker.internal.hooks;

/**
 * The resources that one call of a hook may use.
 *
 * @param instructions of the interpreter, and steps of the library functions, which count alike
 * @param timeNanos of the clock; a pause of the process is charged as one millisecond at most
 * @param memoryBytes that may be allocated, whether or not they become garbage
 */
public record HookLimits(int instructions, long timeNanos, long memoryBytes) {
  public static final HookLimits DEFAULT = new HookLimits(100_000, 10_000_000, 1 << 20);

  /** No string of a script is longer, so no single operation on strings takes long. */
  public static final int MAX_STRING_BYTES = 1 << 16;

  /** Arguments or results of one call; the interpreter walks them in linear time. */
  public static final int MAX_VALUES = 256;

  /** Calls within calls; each takes a frame of the Java stack. */
  public static final int MAX_DEPTH = 200;

  /** A script is read whole, so it has to have a size. */
  public static final int MAX_SOURCE_BYTES = 1 << 16;
}
