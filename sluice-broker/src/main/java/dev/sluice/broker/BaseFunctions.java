package dev.sluice.broker;

import static org.luaj.vm2.LuaValue.FALSE;
import static org.luaj.vm2.LuaValue.NIL;
import static org.luaj.vm2.LuaValue.TRUE;
import static org.luaj.vm2.LuaValue.varargsOf;

import org.luaj.vm2.LuaError;
import org.luaj.vm2.LuaNumber;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/**
 * The global functions of Lua 5.2 that are of use to a hook and no way out of it.
 *
 * <p>Without {@code load} and its kin, {@code print}, {@code require} and {@code collectgarbage};
 * without metatables of strings, which LuaJ shares between all scripts, and without weak tables.
 */
final class BaseFunctions {
  private final ScriptGuard guard;
  private final ScriptFunction next;
  private final ScriptFunction inext;

  private BaseFunctions(ScriptGuard guard) {
    this.guard = guard;
    this.next = new ScriptFunction("next", args -> Arguments.table(args, 1).next(args.arg(2)));
    this.inext = new ScriptFunction("ipairs", args -> Arguments.table(args, 1).inext(args.arg(2)));
  }

  static void addTo(LuaTable table, ScriptGuard guard) {
    BaseFunctions base = new BaseFunctions(guard);
    table.set("_VERSION", "Lua 5.2");
    table.set("next", base.next);
    ScriptFunction.add(table, "assert", base::check);
    ScriptFunction.add(table, "error", base::error);
    ScriptFunction.add(table, "getmetatable", BaseFunctions::getmetatable);
    ScriptFunction.add(
        table, "ipairs", args -> varargsOf(base.inext, Arguments.table(args, 1), LuaValue.ZERO));
    ScriptFunction.add(table, "pairs", args -> varargsOf(base.next, Arguments.table(args, 1), NIL));
    ScriptFunction.add(table, "pcall", base::pcall);
    ScriptFunction.add(table, "rawequal", args -> LuaValue.valueOf(args.arg(1).raweq(args.arg(2))));
    ScriptFunction.add(table, "rawget", args -> Arguments.table(args, 1).rawget(args.arg(2)));
    ScriptFunction.add(table, "rawlen", args -> LuaValue.valueOf(args.arg(1).rawlen()));
    ScriptFunction.add(table, "rawset", BaseFunctions::rawset);
    ScriptFunction.add(table, "select", BaseFunctions::select);
    ScriptFunction.add(table, "setmetatable", BaseFunctions::setmetatable);
    ScriptFunction.add(table, "tonumber", BaseFunctions::tonumber);
    ScriptFunction.add(table, "tostring", args -> text(guard, Arguments.value(args, 1)));
    ScriptFunction.add(table, "type", args -> LuaText.of(Arguments.value(args, 1).typename()));
    ScriptFunction.add(table, "xpcall", base::xpcall);
  }

  /** What {@code tostring} returns. */
  static LuaString text(ScriptGuard guard, LuaValue value) {
    if (value instanceof LuaString text) {
      return text;
    }
    if (value instanceof LuaNumber number) {
      return LuaText.of(number);
    }
    LuaValue handler = value.istable() ? value.metatag(LuaValue.TOSTRING) : NIL;
    if (handler.isnil()) {
      return LuaText.of(value.tojstring());
    }
    int depth = guard.enter();
    LuaValue made = handler.call(value);
    guard.leaveTo(depth);
    if (!made.isstring()) {
      throw new ScriptError("'__tostring' must return a string");
    }
    return Arguments.coerce(made);
  }

  private Varargs check(Varargs args) {
    if (Arguments.value(args, 1).toboolean()) {
      return args;
    }
    throw args.narg() > 1 ? new ScriptError(args.arg(2)) : new ScriptError("assertion failed!");
  }

  private Varargs error(Varargs args) {
    LuaValue message = args.arg(1);
    String where = guard.where((int) Arguments.integer(args, 2, 1));
    if (message.type() != LuaValue.TSTRING || where.isEmpty()) {
      throw new ScriptError(message);
    }
    ScriptBuffer text = new ScriptBuffer(guard);
    text.append(where);
    text.append(message.checkstring());
    throw new ScriptError((LuaValue) text.toLua());
  }

  private Varargs pcall(Varargs args) {
    LuaValue function = Arguments.value(args, 1);
    int depth = guard.enter();
    try {
      return varargsOf(TRUE, function.invoke(args.subargs(2)));
    } catch (LuaError e) {
      return varargsOf(FALSE, ScriptError.valueOf(e));
    } finally {
      guard.leaveTo(depth);
    }
  }

  /** The handler runs after the stack is unwound; there is no traceback to miss. */
  private Varargs xpcall(Varargs args) {
    LuaValue function = Arguments.value(args, 1);
    LuaValue handler = Arguments.value(args, 2);
    int depth = guard.enter();
    try {
      return varargsOf(TRUE, function.invoke(args.subargs(3)));
    } catch (LuaError e) {
      return varargsOf(FALSE, handle(handler, ScriptError.valueOf(e)));
    } finally {
      guard.leaveTo(depth);
    }
  }

  private static Varargs handle(LuaValue handler, LuaValue error) {
    try {
      return handler.invoke(error);
    } catch (LuaError e) {
      return LuaText.of("error in error handling");
    }
  }

  private static Varargs getmetatable(Varargs args) {
    if (!(Arguments.value(args, 1) instanceof LuaTable table) || table.getmetatable() == null) {
      return NIL;
    }
    LuaValue metatable = table.getmetatable();
    LuaValue shown = metatable.rawget(LuaValue.METATABLE);
    return shown.isnil() ? metatable : shown;
  }

  private static Varargs setmetatable(Varargs args) {
    LuaTable table = Arguments.table(args, 1);
    LuaValue old = table.getmetatable();
    if (old != null && !old.rawget(LuaValue.METATABLE).isnil()) {
      throw new ScriptError("cannot change a protected metatable");
    }
    if (args.arg(2).isnil()) {
      return table.setmetatable(null);
    }
    LuaTable metatable = Arguments.table(args, 2);
    if (!metatable.rawget(LuaValue.MODE).isnil()) {
      throw new ScriptError("weak tables are not supported");
    }
    return table.setmetatable(metatable);
  }

  private static Varargs rawset(Varargs args) {
    LuaTable table = Arguments.table(args, 1);
    if (!args.arg(2).isvalidkey()) {
      throw Arguments.bad(2, "invalid key");
    }
    table.rawset(args.arg(2), args.arg(3));
    return table;
  }

  private static Varargs select(Varargs args) {
    int count = args.narg() - 1;
    if (args.arg(1) instanceof LuaString text && text.m_length == 1 && text.luaByte(0) == '#') {
      return LuaValue.valueOf(count);
    }
    long index = Arguments.integer(args, 1);
    if (index == 0 || index < -count) {
      throw Arguments.bad(1, "index out of range");
    }
    long first = index < 0 ? count + index + 1 : Math.min(index, count + 1L);
    return args.subargs((int) first + 1);
  }

  private static Varargs tonumber(Varargs args) {
    LuaValue value = Arguments.value(args, 1);
    if (args.arg(2).isnil()) {
      return value.tonumber();
    }
    long base = Arguments.integer(args, 2);
    if (base < 2 || base > 36) {
      throw Arguments.bad(2, "base out of range");
    }
    return Arguments.text(args, 1).tonumber((int) base);
  }
}
