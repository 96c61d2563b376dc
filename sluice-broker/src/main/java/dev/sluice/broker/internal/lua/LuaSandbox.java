package dev.sluice.broker.internal.lua;

import dev.sluice.broker.internal.hooks.HookBudget;
import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.hooks.HookLimits;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.function.LongSupplier;
import org.luaj.vm2.LuaClosure;
import org.luaj.vm2.LuaError;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Prototype;
import org.luaj.vm2.Varargs;
import org.luaj.vm2.lib.Bit32Lib;
import org.luaj.vm2.lib.MathLib;
import org.luaj.vm2.lib.jse.JseMathLib;

/**
 * An interpreter in which a script can do nothing but compute, and only for a while.
 *
 * <p>Used by one thread at a time; no call sees anything of those before it.
 */
public final class LuaSandbox {
  private static final LuaTable BIT32 = bit32();
  private static final int MAX_MESSAGE_CHARS = 500;

  private final ResourceGuard guard;
  private final MathLibrary math = new MathLibrary();
  private final LuaTable strings;
  private final ScriptGlobals globals;
  private Map<String, String> config = Map.of();

  public LuaSandbox(HookLimits limits, LongSupplier nanoClock, LongSupplier allocatedBytes) {
    guard = new ResourceGuard(limits, nanoClock, allocatedBytes);
    strings = StringLibrary.table(guard);
    ReadOnlyTable library = new ReadOnlyTable();
    globals = new ScriptGlobals(library, guard);
    BaseLibrary.addTo(library, guard);
    library.set("_G", globals);
    library.set("bit32", BIT32);
    library.set("math", math.table());
    library.set("string", strings);
    library.set("table", TableLibrary.table(guard));
    ReadOnlyTable configuration = new ReadOnlyTable();
    LibraryFunction.add(configuration, "get", this::get);
    library.set("fila", configuration.freeze());
    library.set("sluice", configuration);
    library.freeze();
  }

  /** Counts the bytes that the current thread has allocated, where the JVM supports that. */
  public static LongSupplier allocatedBytes() {
    return ManagementFactory.getThreadMXBean() instanceof com.sun.management.ThreadMXBean threads
            && threads.isThreadAllocatedMemorySupported()
        ? threads::getCurrentThreadAllocatedBytes
        : () -> -1;
  }

  public ResourceGuard guard() {
    return guard;
  }

  /** Creates the arguments of the function, after the budgets were filled. */
  public interface Message {
    LuaValue in(ResourceGuard guard);
  }

  /**
   * Runs a script, then the global function of that name.
   *
   * @throws HookException if either fails or exceeds a budget, or the function is not there
   */
  public LuaValue run(
      Prototype script, String function, Message message, Map<String, String> config) {
    return run(script, function, message, config, new HookBudget());
  }

  /** As above; what it uses is charged to {@code budget}, however it ends. */
  public LuaValue run(
      Prototype script,
      String function,
      Message message,
      Map<String, String> config,
      HookBudget budget) {
    try {
      return guarded(config, () -> load(script, function).call(message.in(guard)));
    } finally {
      budget.charge(guard.spent(), guard.ranNanos());
    }
  }

  /** Runs a script and makes sure that it defines a global function of that name. */
  void check(Prototype script, String function) {
    guarded(Map.of(), () -> load(script, function));
  }

  private LuaValue load(Prototype script, String function) {
    new LuaClosure(script, globals).call();
    LuaValue found = globals.rawget(LuaStrings.of(function));
    if (!found.isfunction()) {
      throw new HookException("the script defines no function " + function);
    }
    return found;
  }

  private interface Body {
    LuaValue run();
  }

  private LuaValue guarded(Map<String, String> values, Body body) {
    config = values;
    math.begin();
    StringMetatable.enter(strings);
    try {
      guard.begin();
      return body.run();
    } catch (LuaError e) {
      throw new HookException(bounded(ScriptError.text(e)));
    } catch (ScriptBudgetExceededError e) {
      throw new HookException(bounded(String.valueOf(e.getMessage())));
    } catch (StackOverflowError e) {
      throw new HookException("the script overflowed the stack");
    } finally {
      StringMetatable.leave();
      globals.clear();
      config = Map.of();
    }
  }

  static String bounded(String message) {
    return message.length() <= MAX_MESSAGE_CHARS
        ? message
        : message.substring(0, MAX_MESSAGE_CHARS) + "...";
  }

  private Varargs get(Varargs args) {
    String value = config.get(LuaStrings.toJava(LuaArguments.text(args, 1)));
    return value == null ? LuaValue.NIL : LuaStrings.of(value);
  }

  private static LuaTable bit32() {
    if (MathLib.MATHLIB == null) {
      // Sets itself; without it the operator ^ is an approximation.
      new JseMathLib();
    }
    LuaTable environment = new LuaTable();
    LuaTable loaded = LuaValue.tableOf(new LuaValue[] {LuaStrings.of("loaded"), new LuaTable()});
    environment.set("package", loaded);
    LuaTable functions = new Bit32Lib().call(LuaValue.NIL, environment).checktable();
    ReadOnlyTable frozen = new ReadOnlyTable();
    for (LuaValue name : functions.keys()) {
      frozen.set(name, functions.get(name));
    }
    return frozen.freeze();
  }
}
