package dev.sluice.broker.internal.lua;

import org.luaj.vm2.Globals;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;

/** The globals of a script: those it sets, over a library that it can only read. */
final class ScriptGlobals extends Globals {
  private final LuaTable library;

  ScriptGlobals(LuaTable library, ResourceGuard guard) {
    this.library = library;
    this.debuglib = guard;
  }

  /** Discards the globals that a script has set. */
  void clear() {
    presize(0, 0);
    setmetatable(null);
  }

  @Override
  public LuaValue rawget(LuaValue key) {
    LuaValue own = super.rawget(key);
    return own.isnil() ? library.rawget(key) : own;
  }
}
