package dev.sluice.broker.internal.lua;

import java.io.ByteArrayInputStream;

/**
 * The text of a script, as LuaJ's compiler reads it.
 *
 * <p>After {@code \z} in a string that is not finished the compiler looks for the end of the blanks
 * past the end of the script, and for ever.
 */
public @SuppressWarnings("InputStreamSlowMultibyteRead") // The compiler reads byte by byte.
final class ScriptSource extends ByteArrayInputStream {
  private static final int MAX_READS_PAST_END = 100;

  private int queue = 1;
  private int readsPastEnd;

  public ScriptSource(byte[] bytes) {
    super(bytes);
  }

  /** Where the compiler is. */
  int line() {
    return queue;
  }

  @Override
  public synchronized int read() {
    int b = super.read();
    queue += b == '\n' ? 1 : 0;
    if (b < 0 && ++readsPastEnd > MAX_READS_PAST_END) {
      throw new ScriptError("unfinished string");
    }
    return b;
  }
}
