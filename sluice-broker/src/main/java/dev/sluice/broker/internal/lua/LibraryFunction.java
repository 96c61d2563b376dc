package dev.sluice.broker.internal.lua;

import org.luaj.vm2.LuaTable;
import org.luaj.vm2.Varargs;
import org.luaj.vm2.lib.VarArgFunction;

/** A library function. */
final class LibraryFunction extends VarArgFunction {
  private final Body body;

  /** The body of the function. */
  interface Body {
    Varargs apply(Varargs args);
  }

  LibraryFunction(String name, Body body) {
    this.name = name;
    this.body = body;
  }

  static void add(LuaTable table, String name, Body body) {
    table.set(name, new LibraryFunction(name, body));
  }

  @Override
  public Varargs invoke(Varargs args) {
    return body.apply(args);
  }

  @Override
  public String tojstring() {
    return "function: builtin: " + name;
  }
}
