package dev.sluice.broker.internal.lua;

import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookLimits;
import java.util.Map;
import java.util.UUID;

/**
 * Loads the classes that scripts use.
 *
 * <p>Otherwise the first script pays for them out of its budget of memory, and a script that
 * overflows the stack while a class is initialized leaves it unusable permanently.
 */
public final class ScriptWarmup {
  private static final HookLimits AMPLE = new HookLimits(1_000_000, Long.MAX_VALUE, 1 << 30);

  private static final String SCRIPT =
      """
      local mt = { __index = function(t, k) return k end, __call = function() return 1 end,
        __tostring = function() return "t" end, __eq = function() return true end }
      local function f(...)
        local a, b = ...
        return select("#", ...), table.unpack(table.pack(a, b, ...))
      end
      local t = setmetatable({ 3, 1, 2, x = 1, [2.5] = 2 }, mt)
      table.sort(t, function(a, b) return a < b end)
      table.insert(t, 1, 0)
      table.remove(t, 1)
      f(1, 2, 3, t.y, t(), tostring(t), t == setmetatable({}, mt))
      local s = ("%s %d %5.2f %g %q %x"):format("a", 1, 2.5, 1e300, "q", 255)
      s = s .. 1.5 .. 2 .. table.concat(t, ",") .. s:upper():lower():reverse():sub(1, -2)
      for word in s:gmatch("(%a+)()") do s = s:gsub("%f[%w]%w-$", "%0"):rep(1, ",") end
      s:find("[^a-z]+", 1); s:match("^(.-)%s*$"); s:byte(1); string.char(65)
      for k, v in pairs(t) do rawset(t, k, v) end
      for i, v in ipairs(t) do t[i] = nil end
      pcall(error, { s }); pcall(function() return nil + 1 end); pcall(function() return nil .. "" end)
      function on_enqueue(msg)
        for k, v in pairs(msg.headers) do s = v end
        return { fairness_key = sluice.get("key"), weight = 2 ^ 0.5, throttle_keys = { 1 } }
      end
      function on_failure(msg)
        return { action = "retry", delay_ms = math.random() * msg.attempts }
      end
      """;

  private ScriptWarmup() {}

  public static void run() {
    LuaHookEngine engine = new LuaHookEngine(AMPLE, () -> 0);
    Map<String, String> texts = Map.of("key", "value");
    engine.compileEnqueue(SCRIPT).run(new HookEngine.EnqueueContext("queue", texts, 1), texts);
    engine
        .compileFailure(SCRIPT)
        .run(new HookEngine.FailureContext("queue", new UUID(0, 0), texts, 1, ""), texts);
  }
}
