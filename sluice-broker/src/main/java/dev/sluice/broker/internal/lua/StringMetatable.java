package dev.sluice.broker.internal.lua;

import dev.sluice.broker.internal.hooks.HookException;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.lib.StringLib;

/**
 * The metatable of all strings, of which LuaJ has one for the whole process.
 *
 * <p>To a thread that runs a hook it shows that hook's string library; to every other thread what
 * was there before, so that an application may use LuaJ as well.
 */
final class StringMetatable extends LuaTable {
  private static final ThreadLocal<@Nullable LuaTable> STRINGS = new ThreadLocal<>();
  private static final StringMetatable INSTANCE = install();

  private final LuaValue outside;

  private StringMetatable(LuaValue outside) {
    this.outside = outside;
  }

  private static StringMetatable install() {
    if (LuaString.s_metatable == null) {
      LuaTable environment = new LuaTable();
      environment.set("package", tableOf(new LuaValue[] {valueOf("loaded"), new LuaTable()}));
      new StringLib().call(NIL, environment);
    }
    StringMetatable instance = new StringMetatable(LuaString.s_metatable);
    LuaString.s_metatable = instance;
    return instance;
  }

  @SuppressWarnings("ReferenceEquality") // Tables are equal only to themselves.
  private static boolean isInstalled() {
    return LuaString.s_metatable == INSTANCE;
  }

  /** From here on {@code strings} are the methods of strings on this thread. */
  static void enter(LuaTable strings) {
    if (!isInstalled()) {
      throw new HookException("another user of LuaJ replaced the metatable of strings");
    }
    STRINGS.set(strings);
  }

  static void leave() {
    STRINGS.set(null);
  }

  @Override
  public LuaValue rawget(LuaValue key) {
    LuaTable own = STRINGS.get();
    if (own == null) {
      return outside.rawget(key);
    }
    return key.raweq(INDEX) ? own : NIL;
  }

  @Override
  public void rawset(LuaValue key, LuaValue value) {
    outside.rawset(key, value);
  }
}
