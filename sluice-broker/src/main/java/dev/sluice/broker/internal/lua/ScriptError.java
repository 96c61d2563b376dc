package dev.sluice.broker.internal.lua;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaError;
import org.luaj.vm2.LuaValue;

/** An error that a script raised or caused, cheap to throw. */
final class ScriptError extends LuaError {
  private static final long serialVersionUID = 1L;

  /** LuaJ writes {@code name:line message}. */
  private static final Pattern POSITION = Pattern.compile("^(\\w+:\\d+) ");

  private final String message;
  private final transient @Nullable LuaValue raised;

  /** An error of a library function; the interpreter adds the line of its caller. */
  ScriptError(String message) {
    super("");
    this.message = message;
    this.raised = null;
  }

  /** The value that the script raised. */
  ScriptError(LuaValue raised) {
    super("");
    this.message = "error object is a " + raised.typename();
    this.raised = raised;
  }

  /** Returns the value that {@code pcall} returns for {@code error}. */
  static LuaValue valueOf(LuaError error) {
    return error instanceof ScriptError own ? own.value() : LuaStrings.of(text(error));
  }

  /** Returns the message for the owner of the script. */
  static String text(LuaError error) {
    if (!(error instanceof ScriptError own)) {
      // LuaJ appends a traceback, which the guard leaves empty.
      String message = String.valueOf(error.getMessage()).stripTrailing();
      return POSITION.matcher(message).replaceFirst("$1: ");
    }
    LuaValue value = own.value();
    return value.isstring() ? LuaStrings.toJava(LuaArguments.coerce(value)) : own.message;
  }

  private LuaValue value() {
    if (raised != null) {
      return raised;
    }
    return LuaStrings.of(fileline == null ? message : fileline + ": " + message);
  }

  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
