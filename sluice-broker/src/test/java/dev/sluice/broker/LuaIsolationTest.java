package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.luaj.vm2.Globals;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.lib.jse.JsePlatform;

/** Scripts that try to leave something for the next call, or to reach what is not theirs. */
@Timeout(20)
class LuaIsolationTest {
  /** Looks at everything that a script before it could have changed. */
  private static final String PROBE =
      """
      local seen = {}
      if leaked ~= nil or _G.leaked ~= nil or rawget(_G, "leaked") ~= nil then seen[1] = "global" end
      if ("x"):rep(2) ~= "xx" or string.rep("x", 2) ~= "xx" then seen[#seen + 1] = "string" end
      if ("x").leaked ~= nil or string.leaked ~= nil then seen[#seen + 1] = "string field" end
      if getmetatable(_G) ~= nil then seen[#seen + 1] = "metatable of globals" end
      if table.leaked or math.leaked or bit32.leaked or fila.leaked then seen[#seen + 1] = "library" end
      if fila.get("key") ~= "value" or headers.leaked then seen[#seen + 1] = "input" end
      if type(pairs) ~= "function" or tostring(1) ~= "1" then seen[#seen + 1] = "base" end
      return #seen == 0 and "clean" or table.concat(seen, ", ")
      """;

  private final ScriptRunner runner = new ScriptRunner();

  @AfterEach
  void nextCallIsClean() {
    assertThat(runner.text(PROBE)).isEqualTo("clean");
    assertThat(new ScriptRunner().text(PROBE)).isEqualTo("clean");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "leaked = 1",
        "_G.leaked = 1",
        "rawset(_G, 'leaked', 1)",
        "setmetatable(_G, { __index = function() return 1 end })",
        "pairs = nil tostring = function() return 'poison' end",
        "_G.string = { rep = function() return 'poison' end }",
        "_ENV = { leaked = 1 }",
        "headers.leaked = 'x' headers[1] = 'y'",
        "math.randomseed(1)",
      })
  void changeOfAGlobal_endsWithTheCall(String script) {
    runner.run(script);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "string.rep = function() return 'poison' end",
        "rawset(string, 'rep', function() return 'poison' end)",
        "string.leaked = 1",
        "table.leaked = 1",
        "math.leaked = 1",
        "bit32.leaked = 1",
        "fila.get = function() end",
        "rawset(sluice, 'leaked', 1)",
        "table.insert(string, 1)",
        "table.remove(math)",
        "setmetatable(string, { __index = function() return 1 end })",
        "getmetatable('').__index = function() return 'poison' end",
        "getmetatable('').__index.rep = nil",
        "rawset(getmetatable(''), '__index', nil)",
        "setmetatable('', {})",
        "('x').leaked = 1",
        "getmetatable(1).__add = 1",
        "getmetatable(print).__call = 1",
      })
  void changeOfASharedTable_fails(String script) {
    assertThat(runner.failure(script)).contains("hook:2");
    assertThat(runner.text("return pcall(function() " + script + " end)")).isEqualTo("false");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "io",
        "os",
        "package",
        "require",
        "luajava",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "debug",
        "coroutine",
        "print",
        "collectgarbage",
        "module",
        "setfenv",
        "getfenv",
        "newproxy",
        "string.dump",
        "java",
        "import",
      })
  void unsafeGlobal_isAbsent(String name) {
    assertThat(runner.text("return " + name)).isEqualTo("nil");
  }

  @Test
  void values_haveLuaTypesOnly() {
    String walk =
        """
        local found, seen = {}, {}
        local function walk(v)
          found[type(v)] = true
          if type(v) == "table" and not seen[v] then
            seen[v] = true
            for k, x in pairs(v) do walk(k) walk(x) end
            walk(getmetatable(v))
          end
        end
        for _, name in ipairs { "_G", "string", "table", "math", "bit32", "fila", "sluice", "pcall" } do
          walk(_G[name])
        end
        walk(headers) walk(getmetatable("")) walk(getmetatable(pcall)) walk(getmetatable(1))
        return tostring(found.userdata) .. tostring(found.thread) .. tostring(found.table)
        """;
    assertThat(runner.text(walk)).isEqualTo("nilniltrue");
  }

  @Test
  void randomSeed_endsWithTheCall() {
    String draw = "return math.random(2^50)";
    String first = runner.text("math.randomseed(7) " + draw);
    assertThat(runner.text("math.randomseed(7) " + draw)).isEqualTo(first);
    runner.run("math.randomseed(7)");
    assertThat(runner.text(draw)).isNotEqualTo(first);
  }

  @Test
  void metatableOfStrings_servesOthersThatUseLuaJ() {
    Globals others = JsePlatform.standardGlobals();
    assertThat(others.load("return ('x'):rep(3)").call().tojstring()).isEqualTo("xxx");
    assertThat(runner.text("return ('y'):rep(2)")).isEqualTo("yy");
    others.load("getmetatable('').__index = function() return 'poison' end").call();
    try {
      assertThat(others.load("return ('x').y").call().tojstring()).isEqualTo("poison");
      assertThat(runner.text(PROBE)).isEqualTo("clean");
    } finally {
      others.load("getmetatable('').__index = string").call();
    }
  }

  @Test
  void metatableOfStrings_replacedByOthersIsRefused() {
    LuaValue ours = LuaString.s_metatable;
    LuaString.s_metatable = new org.luaj.vm2.LuaTable();
    try {
      assertThat(runner.failure("return 1")).contains("replaced the metatable of strings");
    } finally {
      LuaString.s_metatable = ours;
    }
  }
}
