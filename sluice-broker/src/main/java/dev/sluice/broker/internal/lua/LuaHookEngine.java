package dev.sluice.broker.internal.lua;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.hooks.HookLimits;
import java.io.IOException;
import java.util.function.LongSupplier;
import org.luaj.vm2.LuaError;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Prototype;
import org.luaj.vm2.compiler.LuaC;

/** Hooks in Lua 5.2, as LuaJ speaks it; {@code docs/hooks.md} has the contract. */
public final class LuaHookEngine implements HookEngine {
  private static final String ON_ENQUEUE = "on_enqueue";
  private static final String ON_FAILURE = "on_failure";

  private static final LuaString HEADERS = LuaStrings.of("headers");
  private static final LuaString PAYLOAD_SIZE = LuaStrings.of("payload_size");
  private static final LuaString QUEUE = LuaStrings.of("queue");
  private static final LuaString ID = LuaStrings.of("id");
  private static final LuaString ATTEMPTS = LuaStrings.of("attempts");
  private static final LuaString ERROR = LuaStrings.of("error");

  static {
    ScriptWarmup.run();
  }

  private final LuaSandboxPool pool;

  public LuaHookEngine(HookLimits limits, LongSupplier nanoClock) {
    LongSupplier allocated = LuaSandbox.allocatedBytes();
    pool = new LuaSandboxPool(() -> new LuaSandbox(limits, nanoClock, allocated));
  }

  @Override
  public EnqueueHook compileEnqueue(String source) {
    Prototype script = compile(source, ON_ENQUEUE);
    return (arrival, config, budget) -> {
      LuaSandbox sandbox = pool.take();
      try {
        return HookResultParser.assignment(
            sandbox.run(script, ON_ENQUEUE, guard -> message(guard, arrival), config, budget));
      } finally {
        pool.give(sandbox);
      }
    };
  }

  @Override
  public FailureHook compileFailure(String source) {
    Prototype script = compile(source, ON_FAILURE);
    return (failure, config) -> {
      LuaSandbox sandbox = pool.take();
      try {
        return HookResultParser.verdict(
            sandbox.run(script, ON_FAILURE, guard -> message(guard, failure), config));
      } finally {
        pool.give(sandbox);
      }
    };
  }

  private static LuaTable message(ResourceGuard guard, HookEngine.EnqueueContext arrival) {
    LuaTable message = new LuaTable(0, 4);
    message.rawset(HEADERS, new HeaderTable(guard, arrival.headers()));
    message.rawset(PAYLOAD_SIZE, LuaValue.valueOf(arrival.payloadSize()));
    message.rawset(QUEUE, LuaStrings.of(arrival.queue()));
    return message;
  }

  private static LuaTable message(ResourceGuard guard, HookEngine.FailureContext failure) {
    LuaTable message = new LuaTable(0, 8);
    message.rawset(HEADERS, new HeaderTable(guard, failure.headers()));
    message.rawset(ID, LuaStrings.of(failure.id().toString()));
    message.rawset(ATTEMPTS, LuaValue.valueOf(failure.attempts()));
    message.rawset(QUEUE, LuaStrings.of(failure.queue()));
    message.rawset(ERROR, LuaStrings.of(cut(failure.error())));
    return message;
  }

  /** An error may carry a whole document; its beginning says enough. */
  private static String cut(String error) {
    return error.substring(0, Math.min(error.length(), HookLimits.MAX_STRING_BYTES / 4));
  }

  private Prototype compile(String source, String function) {
    Prototype script = parse(source, function);
    LuaSandbox sandbox = pool.take();
    try {
      sandbox.check(script, function);
    } finally {
      pool.give(sandbox);
    }
    return script;
  }

  private static Prototype parse(String source, String name) {
    byte[] bytes = source.getBytes(UTF_8);
    if (bytes.length > HookLimits.MAX_SOURCE_BYTES) {
      throw new HookException("a script must be at most 65536 bytes long, but was " + bytes.length);
    }
    ScriptSource input = new ScriptSource(bytes);
    try {
      return LuaC.instance.compile(input, name);
    } catch (NumberFormatException e) {
      throw new HookException(name + ":" + input.line() + ": malformed number");
    } catch (ScriptError e) {
      throw new HookException(name + ":" + input.line() + ": " + ScriptError.text(e));
    } catch (LuaError e) {
      String message = ScriptError.text(e).replace("[string \"" + name + "\"]", name);
      throw new HookException(LuaSandbox.bounded(message));
    } catch (IOException | RuntimeException | StackOverflowError e) {
      throw new HookException(LuaSandbox.bounded("the script does not compile: " + e));
    }
  }
}
