package dev.sluice.broker.internal.lua;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/**
 * The headers of a message.
 *
 * <p>A hook reads one or two of them: those are converted as they are read. Anything else that it
 * does with the table finds all of them in it.
 */
public final class HeaderTable extends LuaTable {
  private final ResourceGuard guard;
  private @Nullable Map<String, String> unread;

  public HeaderTable(ResourceGuard guard, Map<String, String> headers) {
    this.guard = guard;
    this.unread = headers;
  }

  @Override
  public LuaValue rawget(LuaValue key) {
    if (unread == null) {
      return super.rawget(key);
    }
    String value = key instanceof LuaString name ? unread.get(LuaStrings.toJava(name)) : null;
    return value == null ? NIL : convert(value);
  }

  @Override
  public LuaValue rawget(int key) {
    return unread == null ? super.rawget(key) : NIL;
  }

  @Override
  public void rawset(int key, LuaValue value) {
    fill();
    super.rawset(key, value);
  }

  @Override
  public void rawset(LuaValue key, LuaValue value) {
    fill();
    super.rawset(key, value);
  }

  @Override
  public Varargs next(LuaValue key) {
    fill();
    return super.next(key);
  }

  private void fill() {
    Map<String, String> headers = unread;
    if (headers != null) {
      unread = null;
      headers.forEach((name, value) -> super.rawset(convert(name), convert(value)));
    }
  }

  private LuaString convert(String text) {
    guard.reserve(text.length());
    return LuaStrings.of(text);
  }
}
