package dev.sluice.broker.internal.lua;

import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;

/** A table that scripts can read only. */
final class ReadOnlyTable extends LuaTable {
  private boolean frozen;

  ReadOnlyTable freeze() {
    frozen = true;
    return this;
  }

  @Override
  public void rawset(int key, LuaValue value) {
    requireMutable();
    super.rawset(key, value);
  }

  @Override
  public void rawset(LuaValue key, LuaValue value) {
    requireMutable();
    super.rawset(key, value);
  }

  @Override
  public void hashset(LuaValue key, LuaValue value) {
    requireMutable();
    super.hashset(key, value);
  }

  @Override
  public void presize(int length) {
    requireMutable();
    super.presize(length);
  }

  @Override
  public LuaValue setmetatable(LuaValue metatable) {
    requireMutable();
    return super.setmetatable(metatable);
  }

  private void requireMutable() {
    if (frozen) {
      throw new ScriptError("attempt to change a read-only table");
    }
  }
}
