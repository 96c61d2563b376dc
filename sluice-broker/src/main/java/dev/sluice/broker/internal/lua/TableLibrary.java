package dev.sluice.broker.internal.lua;

import java.util.Arrays;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/** The table {@code table} of Lua 5.2, within the limits of a script. */
final class TableLibrary {
  private static final int MOVED_PER_STEP = 4;
  private static final int COMPARED_PER_STEP = 16;
  private static final int SLOT_BYTES = 8;

  private final ResourceGuard guard;

  private TableLibrary(ResourceGuard guard) {
    this.guard = guard;
  }

  static LuaTable table(ResourceGuard guard) {
    TableLibrary tables = new TableLibrary(guard);
    ReadOnlyTable table = new ReadOnlyTable();
    LibraryFunction.add(table, "concat", tables::concat);
    LibraryFunction.add(table, "insert", tables::insert);
    LibraryFunction.add(table, "pack", tables::pack);
    LibraryFunction.add(table, "remove", tables::remove);
    LibraryFunction.add(table, "sort", tables::sort);
    LibraryFunction.add(table, "unpack", tables::unpack);
    return table.freeze();
  }

  private Varargs concat(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    LuaString separator = args.isnil(2) ? LuaValue.EMPTYSTRING : LuaArguments.text(args, 2);
    long last = args.isnil(4) ? table.rawlen() : LuaArguments.integer(args, 4);
    ScriptStringBuilder out = new ScriptStringBuilder(guard);
    for (long i = LuaArguments.integer(args, 3, 1); i <= last; i++) {
      guard.spend(1);
      LuaValue value = table.rawget((int) i);
      if (!value.isstring()) {
        throw new ScriptError(
            "invalid value (" + value.typename() + ") at index " + i + " in table for 'concat'");
      }
      out.append(LuaArguments.coerce(value));
      if (i < last) {
        out.append(separator);
      }
    }
    return out.toLua();
  }

  private Varargs insert(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    int end = table.rawlen() + 1;
    long position = args.narg() > 2 ? LuaArguments.integer(args, 2) : end;
    if (args.narg() < 2 || args.narg() > 3) {
      throw new ScriptError("wrong number of arguments to 'insert'");
    }
    if (position < 1 || position > end) {
      throw LuaArguments.bad(2, "position out of bounds");
    }
    guard.spend((end - position) / MOVED_PER_STEP);
    for (int i = end; i > position; i--) {
      table.rawset(i, table.rawget(i - 1));
    }
    table.rawset((int) position, args.arg(args.narg()));
    return LuaValue.NONE;
  }

  private Varargs remove(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    int size = table.rawlen();
    long position = LuaArguments.integer(args, 2, size);
    if (position != size && (position < 1 || position > size + 1L)) {
      throw LuaArguments.bad(2, "position out of bounds");
    }
    guard.spend((size - position) / MOVED_PER_STEP);
    LuaValue removed = table.rawget((int) position);
    for (int i = (int) position; i < size; i++) {
      table.rawset(i, table.rawget(i + 1));
    }
    if (position <= size) {
      table.rawset(size, LuaValue.NIL);
    }
    return removed;
  }

  private Varargs pack(Varargs args) {
    int count = args.narg();
    guard.reserveValues(count);
    LuaTable packed = new LuaTable(count, 1);
    for (int i = 1; i <= count; i++) {
      packed.rawset(i, args.arg(i));
    }
    packed.set("n", LuaValue.valueOf(count));
    return packed;
  }

  private Varargs unpack(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    long first = LuaArguments.integer(args, 2, 1);
    long last = args.isnil(3) ? table.rawlen() : LuaArguments.integer(args, 3);
    if (first > last) {
      return LuaValue.NONE;
    }
    // One by subtraction could overflow: both ends are the script's.
    guard.reserveValues((long) ((double) last - (double) first + 1));
    LuaValue[] values = new LuaValue[(int) (last - first + 1)];
    for (int i = 0; i < values.length; i++) {
      values[i] = table.rawget((int) (first + i));
    }
    return LuaValue.varargsOf(values);
  }

  private Varargs sort(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    LuaValue order = args.arg(2);
    int size = table.rawlen();
    guard.reserve((long) size * SLOT_BYTES * 2);
    LuaValue[] values = new LuaValue[size];
    for (int i = 0; i < size; i++) {
      values[i] = table.rawget(i + 1);
    }
    int depth = guard.enter();
    try {
      Arrays.sort(values, (a, b) -> isLess(a, b, order) ? -1 : isLess(b, a, order) ? 1 : 0);
    } catch (IllegalArgumentException e) {
      throw new ScriptError("invalid order function for sorting");
    }
    guard.leaveTo(depth);
    for (int i = 0; i < size; i++) {
      table.rawset(i + 1, values[i]);
    }
    return LuaValue.NONE;
  }

  private boolean isLess(LuaValue a, LuaValue b, LuaValue order) {
    guard.spend(1);
    if (!order.isnil()) {
      return order.call(a, b).toboolean();
    }
    if (a instanceof LuaString text && b instanceof LuaString other) {
      guard.spend(Math.min(text.m_length, other.m_length) / COMPARED_PER_STEP);
    }
    return a.lt_b(b);
  }
}
