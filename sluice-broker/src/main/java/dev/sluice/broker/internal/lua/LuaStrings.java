package dev.sluice.broker.internal.lua;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.luaj.vm2.LuaNumber;
import org.luaj.vm2.LuaString;

/** Strings on their way into and out of Lua, where they are bytes. */
public final class LuaStrings {
  /** Enough for every double that is not an integer to look as it does in Lua. */
  private static final int NUMBER_DIGITS = 14;

  private LuaStrings() {}

  /** As UTF-8; LuaJ's own conversion writes surrogates one by one. */
  static LuaString of(String text) {
    return LuaString.valueUsing(text.getBytes(UTF_8));
  }

  /** Returns the text; bytes that are no UTF-8 become U+FFFD. */
  public static String toJava(LuaString text) {
    return new String(text.m_bytes, text.m_offset, text.m_length, UTF_8);
  }

  /** LuaJ's own conversion goes through {@code float}. */
  static LuaString of(LuaNumber number) {
    double value = number.todouble();
    long whole = (long) value;
    return of(whole == value ? Long.toString(whole) : StringFormat.general(value, NUMBER_DIGITS));
  }
}
