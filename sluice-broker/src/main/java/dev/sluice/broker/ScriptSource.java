package dev.sluice.broker;

import java.io.InputStream;

/**
 * The text of a script, as LuaJ's compiler reads it.
 *
 * <p>After {@code \z} in a string that is not finished the compiler looks for the end of the blanks
 * past the end of the script, and for ever.
 */
final class ScriptSource extends InputStream {
  private static final int MAX_READS_PAST_END = 100;

  private final byte[] bytes;
  private int next;

  ScriptSource(byte[] bytes) {
    this.bytes = bytes;
  }

  @Override
  public int read() {
    int at = next++;
    if (at < bytes.length) {
      return bytes[at] & 0xff;
    }
    if (at > bytes.length + MAX_READS_PAST_END) {
      throw new ScriptError("unfinished string at the end of the script");
    }
    return -1;
  }
}
