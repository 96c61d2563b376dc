package dev.sluice.broker.internal.lua;

import static org.luaj.vm2.LuaValue.NIL;
import static org.luaj.vm2.LuaValue.varargsOf;

import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/**
 * The table {@code string}: that of Lua 5.2 without {@code dump}, within the limits of a script.
 */
public final class StringLibrary {
  private static final LuaString SPECIALS = LuaStrings.of("^$*+?.([%-");
  private static final int COPIED_PER_STEP = 16;

  private final ResourceGuard guard;

  private StringLibrary(ResourceGuard guard) {
    this.guard = guard;
  }

  public static LuaTable table(ResourceGuard guard) {
    StringLibrary strings = new StringLibrary(guard);
    ReadOnlyTable table = new ReadOnlyTable();
    LibraryFunction.add(table, "byte", strings::bytes);
    LibraryFunction.add(table, "char", strings::chars);
    LibraryFunction.add(table, "find", args -> strings.find(args, true));
    LibraryFunction.add(
        table, "format", args -> StringFormat.format(guard, args, LuaArguments.text(args, 1)));
    LibraryFunction.add(table, "gmatch", strings::gmatch);
    LibraryFunction.add(table, "gsub", strings::gsub);
    LibraryFunction.add(
        table, "len", args -> LuaValue.valueOf(LuaArguments.text(args, 1).m_length));
    LibraryFunction.add(table, "lower", args -> strings.map(args, StringLibrary::lower));
    LibraryFunction.add(table, "match", args -> strings.find(args, false));
    LibraryFunction.add(table, "rep", strings::rep);
    LibraryFunction.add(table, "reverse", strings::reverse);
    LibraryFunction.add(table, "sub", strings::sub);
    LibraryFunction.add(table, "upper", args -> strings.map(args, StringLibrary::upper));
    return table.freeze();
  }

  /** A byte for a byte. */
  private interface ByteMap {
    int apply(int b);
  }

  private static int lower(int b) {
    return b >= 'A' && b <= 'Z' ? b + 0x20 : b;
  }

  private static int upper(int b) {
    return b >= 'a' && b <= 'z' ? b - 0x20 : b;
  }

  private Varargs map(Varargs args, ByteMap map) {
    LuaString text = LuaArguments.text(args, 1);
    byte[] mapped = newBytes(text.m_length);
    for (int i = 0; i < mapped.length; i++) {
      mapped[i] = (byte) map.apply(text.luaByte(i));
    }
    return LuaString.valueUsing(mapped);
  }

  private Varargs reverse(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    byte[] reversed = newBytes(text.m_length);
    for (int i = 0; i < reversed.length; i++) {
      reversed[i] = (byte) text.luaByte(reversed.length - 1 - i);
    }
    return LuaString.valueUsing(reversed);
  }

  private byte[] newBytes(long length) {
    guard.reserveString(length);
    guard.spend(length / COPIED_PER_STEP);
    return new byte[(int) length];
  }

  private Varargs bytes(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    long first = LuaArguments.integer(args, 2, 1);
    int start = startOf(first, text.m_length);
    int end = endOf(LuaArguments.integer(args, 3, first), text.m_length);
    if (start >= end) {
      return LuaValue.NONE;
    }
    guard.reserveValues((long) end - start);
    LuaValue[] values = new LuaValue[end - start];
    for (int i = 0; i < values.length; i++) {
      values[i] = LuaValue.valueOf(text.luaByte(start + i));
    }
    return varargsOf(values);
  }

  private Varargs chars(Varargs args) {
    int count = args.narg();
    guard.reserveValues(count);
    byte[] chars = new byte[count];
    for (int i = 0; i < count; i++) {
      long c = LuaArguments.integer(args, i + 1);
      if (c < 0 || c > 255) {
        throw LuaArguments.bad(i + 1, "value out of range");
      }
      chars[i] = (byte) c;
    }
    return LuaString.valueUsing(chars);
  }

  private Varargs sub(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    int start = startOf(LuaArguments.integer(args, 2, 1), text.m_length);
    int end = endOf(LuaArguments.integer(args, 3, -1), text.m_length);
    if (start >= end) {
      return LuaValue.EMPTYSTRING;
    }
    guard.reserve((long) end - start);
    return text.substring(start, end);
  }

  /** From 1-based, possibly from the end, to a 0-based index. */
  private static int startOf(long position, int length) {
    long start = position >= 0 ? position - 1 : length + position;
    return (int) Math.min(Math.max(start, 0), length);
  }

  private static int endOf(long position, int length) {
    long end = position >= 0 ? position : length + position + 1;
    return (int) Math.min(Math.max(end, 0), length);
  }

  private Varargs rep(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    long times = Math.min(LuaArguments.integer(args, 2), Integer.MAX_VALUE);
    LuaString separator = args.isnil(3) ? LuaValue.EMPTYSTRING : LuaArguments.text(args, 3);
    long length = times * ((long) text.m_length + separator.m_length) - separator.m_length;
    if (times <= 0 || length == 0) {
      return LuaValue.EMPTYSTRING;
    }
    byte[] repeated = newBytes(length);
    text.copyInto(0, repeated, 0, text.m_length);
    int filled = text.m_length;
    if (times > 1) {
      separator.copyInto(0, repeated, filled, separator.m_length);
      filled += separator.m_length;
    }
    while (filled < repeated.length) {
      int count = Math.min(filled, repeated.length - filled);
      System.arraycopy(repeated, 0, repeated, filled, count);
      filled += count;
    }
    return LuaString.valueUsing(repeated);
  }

  private Varargs find(Varargs args, boolean positions) {
    LuaString text = LuaArguments.text(args, 1);
    LuaString sought = LuaArguments.text(args, 2);
    long init = LuaArguments.integer(args, 3, 1);
    if (init > text.m_length + 1L) {
      return NIL;
    }
    int from = startOf(init, text.m_length);
    if (positions && (args.arg(4).toboolean() || sought.indexOfAny(SPECIALS) < 0)) {
      int found = indexOf(text, sought, from);
      return found < 0 ? NIL : range(found, found + sought.m_length, LuaValue.NONE);
    }
    StringPattern pattern = new StringPattern(guard, text, sought);
    boolean anchored = pattern.isAnchored();
    for (int start = from; start <= text.m_length; start++) {
      int end = pattern.matchAt(start, anchored ? 1 : 0);
      if (end != StringPattern.FAIL) {
        return positions
            ? range(start, end, pattern.onlyCaptures(start, end))
            : pattern.captures(start, end);
      }
      if (anchored) {
        break;
      }
    }
    return NIL;
  }

  private static Varargs range(int start, int end, Varargs captures) {
    return varargsOf(LuaValue.valueOf(start + 1), LuaValue.valueOf(end), captures);
  }

  private int indexOf(LuaString text, LuaString sought, int from) {
    for (int i = from; i <= text.m_length - sought.m_length; i++) {
      int same = 0;
      while (same < sought.m_length && text.luaByte(i + same) == sought.luaByte(same)) {
        same++;
      }
      if (same == sought.m_length) {
        return i;
      }
      guard.spend(1 + same / COPIED_PER_STEP);
    }
    return -1;
  }

  private Varargs gmatch(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    StringPattern pattern = new StringPattern(guard, text, LuaArguments.text(args, 2));
    int[] next = {0};
    return new LibraryFunction("gmatch", none -> nextMatch(pattern, text.m_length, next));
  }

  private static Varargs nextMatch(StringPattern pattern, int length, int[] next) {
    for (int start = next[0]; start <= length; start++) {
      int end = pattern.matchAt(start, 0);
      if (end != StringPattern.FAIL) {
        next[0] = end == start ? end + 1 : end;
        return pattern.captures(start, end);
      }
    }
    next[0] = length + 1;
    return NIL;
  }

  private Varargs gsub(Varargs args) {
    LuaString text = LuaArguments.text(args, 1);
    StringPattern pattern = new StringPattern(guard, text, LuaArguments.text(args, 2));
    LuaValue replacement = args.arg(3);
    if (!replacement.isstring() && !replacement.isfunction() && !replacement.istable()) {
      throw LuaArguments.bad(3, "string/function/table expected, got " + replacement.typename());
    }
    long max = LuaArguments.integer(args, 4, text.m_length + 1L);
    boolean anchored = pattern.isAnchored();
    ScriptStringBuilder out = new ScriptStringBuilder(guard);
    int at = 0;
    int count = 0;
    while (count < max) {
      int end = pattern.matchAt(at, anchored ? 1 : 0);
      if (end != StringPattern.FAIL) {
        count++;
        out.append(replace(pattern, replacement, at, end));
      }
      if (end != StringPattern.FAIL && end > at) {
        at = end;
      } else if (at < text.m_length) {
        out.append(text.luaByte(at++));
      } else {
        break;
      }
      if (anchored) {
        break;
      }
    }
    out.append(text, at, text.m_length);
    return varargsOf(out.toLua(), LuaValue.valueOf(count));
  }

  private LuaString replace(StringPattern pattern, LuaValue replacement, int start, int end) {
    LuaValue value;
    if (replacement.isfunction()) {
      int depth = guard.enter();
      value = replacement.invoke(pattern.captures(start, end)).arg1();
      guard.leaveTo(depth);
    } else if (replacement.istable()) {
      value = replacement.get(pattern.capture(0, start, end));
    } else {
      return expand(pattern, LuaArguments.coerce(replacement), start, end);
    }
    if (!value.toboolean()) {
      return pattern.slice(start, end);
    }
    if (!value.isstring()) {
      throw new ScriptError("invalid replacement value (a " + value.typename() + ")");
    }
    return LuaArguments.coerce(value);
  }

  /** Puts captures in the place of {@code %0} to {@code %9}. */
  private LuaString expand(StringPattern pattern, LuaString template, int start, int end) {
    if (template.indexOf((byte) '%', 0) < 0) {
      return template;
    }
    ScriptStringBuilder out = new ScriptStringBuilder(guard);
    int i = 0;
    while (i < template.m_length) {
      guard.spend(1);
      int c = template.luaByte(i++);
      if (c != '%') {
        out.append(c);
        continue;
      }
      int name = i < template.m_length ? template.luaByte(i++) : 0;
      if (name == '0') {
        out.append(pattern.slice(start, end));
      } else if (name >= '1' && name <= '9') {
        out.append(LuaArguments.coerce(pattern.capture(name - '1', start, end)));
      } else if (name == '%') {
        out.append('%');
      } else {
        throw new ScriptError("invalid use of '%' in replacement string");
      }
    }
    return out.toLua();
  }
}
