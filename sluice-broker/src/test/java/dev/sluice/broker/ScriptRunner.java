package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.BaseLibrary;
import dev.sluice.broker.internal.lua.HeaderTable;
import dev.sluice.broker.internal.lua.LuaSandbox;
import dev.sluice.broker.internal.lua.LuaStrings;
import dev.sluice.broker.internal.lua.ScriptSource;
import dev.sluice.broker.internal.lua.ScriptWarmup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.function.LongSupplier;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Prototype;
import org.luaj.vm2.compiler.LuaC;

/** One sandbox, whose counters a test can look at. */
final class ScriptRunner {
  /** The clock stands still, so that only what is counted can stop a script. */
  static final LongSupplier STANDING_CLOCK = () -> 0;

  static {
    ScriptWarmup.run();
  }

  private final LuaSandbox sandbox;
  private int spent;
  private long usedBytes;

  ScriptRunner(HookLimits limits, LongSupplier clock, LongSupplier allocated) {
    sandbox = new LuaSandbox(limits, clock, allocated);
  }

  ScriptRunner() {
    this(HookLimits.DEFAULT, STANDING_CLOCK, LuaSandbox.allocatedBytes());
  }

  /** Instructions of the last script that failed. */
  int spent() {
    return spent;
  }

  /** Bytes that the last script that failed allocated. */
  long usedBytes() {
    return usedBytes;
  }

  /** Why a chunk fails. */
  String failure(String body) {
    return failure(body, Map.of());
  }

  String failure(String body, Map<String, String> headers) {
    try {
      return "returned " + run(body, headers);
    } catch (HookException e) {
      spent = sandbox.guard().spent();
      usedBytes = sandbox.guard().usedBytes();
      return String.valueOf(e.getMessage());
    }
  }

  /** Runs a chunk as the body of the hook; the result is what it returns. */
  LuaValue run(String body) {
    return run(body, Map.of());
  }

  LuaValue run(String body, Map<String, String> headers) {
    String script = "function hook(headers)\n" + body + "\nend";
    return sandbox.run(
        compile(script), "hook", guard -> new HeaderTable(guard, headers), Map.of("key", "value"));
  }

  String text(String body) {
    return LuaStrings.toJava(BaseLibrary.text(sandbox.guard(), run(body)));
  }

  private static Prototype compile(String script) {
    try {
      return LuaC.instance.compile(new ScriptSource(script.getBytes(UTF_8)), "hook");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
