package dev.sluice.broker.internal.lua;

import org.luaj.vm2.LuaNumber;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/** Arguments of library functions, coerced as Lua does. */
final class LuaArguments {
  private LuaArguments() {}

  static LuaString text(Varargs args, int index) {
    LuaValue value = args.arg(index);
    if (!value.isstring()) {
      throw bad(index, "string expected, got " + typeOf(args, index));
    }
    return coerce(value);
  }

  static double number(Varargs args, int index) {
    LuaValue value = args.arg(index);
    if (!value.isnumber()) {
      throw bad(index, "number expected, got " + typeOf(args, index));
    }
    return value.todouble();
  }

  /** Truncates fractions, and clamps numbers to the range of {@code long}. */
  static long integer(Varargs args, int index) {
    return (long) number(args, index);
  }

  static long integer(Varargs args, int index, long fallback) {
    return args.arg(index).isnil() ? fallback : integer(args, index);
  }

  static LuaTable table(Varargs args, int index) {
    if (args.arg(index) instanceof LuaTable table) {
      return table;
    }
    throw bad(index, "table expected, got " + typeOf(args, index));
  }

  static LuaValue value(Varargs args, int index) {
    if (index > args.narg()) {
      throw bad(index, "value expected");
    }
    return args.arg(index);
  }

  /** A string or a number as a string. */
  static LuaString coerce(LuaValue value) {
    return value instanceof LuaNumber number ? LuaStrings.of(number) : value.checkstring();
  }

  static ScriptError bad(int index, String what) {
    return new ScriptError("bad argument #" + index + " (" + what + ")");
  }

  private static String typeOf(Varargs args, int index) {
    return index > args.narg() ? "no value" : args.arg(index).typename();
  }
}
