package dev.sluice.broker.internal.lua;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.broker.internal.hooks.HookLimits;
import java.util.Arrays;
import org.luaj.vm2.LuaString;

/** Builds a string of a script, within its limits. */
final class ScriptStringBuilder {
  private static final int FIRST_BYTES = 32;

  private final ResourceGuard guard;
  private byte[] bytes = new byte[FIRST_BYTES];
  private int length;

  ScriptStringBuilder(ResourceGuard guard) {
    this.guard = guard;
  }

  void append(int b) {
    ensure(1);
    bytes[length++] = (byte) b;
  }

  void append(LuaString text) {
    append(text, 0, text.m_length);
  }

  void append(LuaString text, int start, int end) {
    int count = end - start;
    ensure(count);
    System.arraycopy(text.m_bytes, text.m_offset + start, bytes, length, count);
    length += count;
  }

  /** Appends text that is ASCII. */
  void append(String ascii) {
    byte[] added = ascii.getBytes(ISO_8859_1);
    ensure(added.length);
    System.arraycopy(added, 0, bytes, length, added.length);
    length += added.length;
  }

  void append(int b, int times) {
    ensure(times);
    Arrays.fill(bytes, length, length + Math.max(times, 0), (byte) b);
    length += Math.max(times, 0);
  }

  LuaString toLua() {
    guard.reserveString(length);
    return LuaString.valueUsing(Arrays.copyOf(bytes, length));
  }

  private void ensure(int count) {
    long needed = (long) length + count;
    if (needed > bytes.length) {
      long capacity = Math.max(needed, Math.min(2L * bytes.length, HookLimits.MAX_STRING_BYTES));
      guard.reserveString(capacity);
      bytes = Arrays.copyOf(bytes, (int) capacity);
    }
  }
}
