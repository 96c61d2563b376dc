package dev.sluice.broker.internal.lua;

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
public final class BaseLibrary {
  private final ResourceGuard guard;
  private final LibraryFunction next;
  private final LibraryFunction inext;

  private BaseLibrary(ResourceGuard guard) {
    this.guard = guard;
    this.next = new LibraryFunction("next", args -> LuaArguments.table(args, 1).next(args.arg(2)));
    this.inext =
        new LibraryFunction("ipairs", args -> LuaArguments.table(args, 1).inext(args.arg(2)));
  }

  static void addTo(LuaTable table, ResourceGuard guard) {
    BaseLibrary base = new BaseLibrary(guard);
    table.set("_VERSION", "Lua 5.2");
    table.set("next", base.next);
    LibraryFunction.add(table, "assert", base::check);
    LibraryFunction.add(table, "error", base::error);
    LibraryFunction.add(table, "getmetatable", BaseLibrary::getmetatable);
    LibraryFunction.add(
        table, "ipairs", args -> varargsOf(base.inext, LuaArguments.table(args, 1), LuaValue.ZERO));
    LibraryFunction.add(
        table, "pairs", args -> varargsOf(base.next, LuaArguments.table(args, 1), NIL));
    LibraryFunction.add(table, "pcall", base::pcall);
    LibraryFunction.add(
        table, "rawequal", args -> LuaValue.valueOf(args.arg(1).raweq(args.arg(2))));
    LibraryFunction.add(table, "rawget", args -> LuaArguments.table(args, 1).rawget(args.arg(2)));
    LibraryFunction.add(table, "rawlen", args -> LuaValue.valueOf(args.arg(1).rawlen()));
    LibraryFunction.add(table, "rawset", BaseLibrary::rawset);
    LibraryFunction.add(table, "select", BaseLibrary::select);
    LibraryFunction.add(table, "setmetatable", BaseLibrary::setmetatable);
    LibraryFunction.add(table, "tonumber", BaseLibrary::tonumber);
    LibraryFunction.add(table, "tostring", args -> text(guard, LuaArguments.value(args, 1)));
    LibraryFunction.add(
        table, "type", args -> LuaStrings.of(LuaArguments.value(args, 1).typename()));
    LibraryFunction.add(table, "xpcall", base::xpcall);
  }

  /** Returns the result of {@code tostring}. */
  public static LuaString text(ResourceGuard guard, LuaValue value) {
    if (value instanceof LuaString text) {
      return text;
    }
    if (value instanceof LuaNumber number) {
      return LuaStrings.of(number);
    }
    LuaValue handler = value.istable() ? value.metatag(LuaValue.TOSTRING) : NIL;
    if (handler.isnil()) {
      return LuaStrings.of(value.tojstring());
    }
    int depth = guard.enter();
    LuaValue made = handler.call(value);
    guard.leaveTo(depth);
    if (!made.isstring()) {
      throw new ScriptError("'__tostring' must return a string");
    }
    return LuaArguments.coerce(made);
  }

  private Varargs check(Varargs args) {
    if (LuaArguments.value(args, 1).toboolean()) {
      return args;
    }
    throw args.narg() > 1 ? new ScriptError(args.arg(2)) : new ScriptError("assertion failed!");
  }

  private Varargs error(Varargs args) {
    LuaValue message = args.arg(1);
    String where = guard.where((int) LuaArguments.integer(args, 2, 1));
    if (message.type() != LuaValue.TSTRING || where.isEmpty()) {
      throw new ScriptError(message);
    }
    ScriptStringBuilder text = new ScriptStringBuilder(guard);
    text.append(where);
    text.append(message.checkstring());
    throw new ScriptError((LuaValue) text.toLua());
  }

  private Varargs pcall(Varargs args) {
    LuaValue function = LuaArguments.value(args, 1);
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
    LuaValue function = LuaArguments.value(args, 1);
    LuaValue handler = LuaArguments.value(args, 2);
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
      return LuaStrings.of("error in error handling");
    }
  }

  private static Varargs getmetatable(Varargs args) {
    if (!(LuaArguments.value(args, 1) instanceof LuaTable table) || table.getmetatable() == null) {
      return NIL;
    }
    LuaValue metatable = table.getmetatable();
    LuaValue shown = metatable.rawget(LuaValue.METATABLE);
    return shown.isnil() ? metatable : shown;
  }

  private static Varargs setmetatable(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    LuaValue old = table.getmetatable();
    if (old != null && !old.rawget(LuaValue.METATABLE).isnil()) {
      throw new ScriptError("cannot change a protected metatable");
    }
    if (args.arg(2).isnil()) {
      return table.setmetatable(null);
    }
    LuaTable metatable = LuaArguments.table(args, 2);
    if (!metatable.rawget(LuaValue.MODE).isnil()) {
      throw new ScriptError("weak tables are not supported");
    }
    return table.setmetatable(metatable);
  }

  private static Varargs rawset(Varargs args) {
    LuaTable table = LuaArguments.table(args, 1);
    if (!args.arg(2).isvalidkey()) {
      throw LuaArguments.bad(2, "invalid key");
    }
    table.rawset(args.arg(2), args.arg(3));
    return table;
  }

  private static Varargs select(Varargs args) {
    int count = args.narg() - 1;
    if (args.arg(1) instanceof LuaString text && text.m_length == 1 && text.luaByte(0) == '#') {
      return LuaValue.valueOf(count);
    }
    long index = LuaArguments.integer(args, 1);
    if (index == 0 || index < -count) {
      throw LuaArguments.bad(1, "index out of range");
    }
    long first = index < 0 ? count + index + 1 : Math.min(index, count + 1L);
    return args.subargs((int) first + 1);
  }

  private static Varargs tonumber(Varargs args) {
    LuaValue value = LuaArguments.value(args, 1);
    if (args.arg(2).isnil()) {
      return value.tonumber();
    }
    long base = LuaArguments.integer(args, 2);
    if (base < 2 || base > 36) {
      throw LuaArguments.bad(2, "base out of range");
    }
    return LuaArguments.text(args, 1).tonumber((int) base);
  }
}
