package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.LuaSandbox;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Scripts written to break out, to hang, or to take the memory of the broker. */
@Timeout(20)
class LuaSandboxTest {
  private static final String STEPS = "used more than 100000 instructions";
  private static final String MEMORY = "allocated more than 1048576 bytes";
  private static final String STRING = "built a string of more than 65536 bytes";
  private static final String VALUES = "passed more than 256 values";
  private static final String DEPTH = "nested more than 200 calls";

  /** The bytes that the interpreter may allocate between two readings of the counter. */
  private static final long SLACK_BYTES = 1 << 20;

  private final ScriptRunner runner = new ScriptRunner();

  static Stream<Arguments> bombs() {
    return Stream.of(strings(), patterns(), tables(), recursion(), metatables())
        .flatMap(bombs -> bombs);
  }

  static Stream<String> loops() {
    return Stream.of(
        "while true do end",
        "for i = 1, math.huge do end",
        "::top:: goto top",
        "repeat until false",
        "pcall(function() while true do end end) return 1",
        "while true do pcall(function() while true do end end) end",
        "xpcall(function() while true do end end, function() end) return 1",
        "xpcall(error, function() while true do end end) return 1",
        "while true do pcall(error, 'x') end",
        "local function f() return f() end return f()",
        "for k in function() return 1 end do end",
        "local _ENV = {} while true do end",
        "_ENV = {} while true do end");
  }

  static Stream<String> memory() {
    return Stream.of(
        "local t = {} while true do t = { t } end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 1e9 do t[i + 0.5] = i end",
        "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
        "local t = {} for i = 1, 1e9 do t[i] = function() return i end end",
        "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(30000) .. i end",
        "local t = {} while true do t[#t + 1] = {" + "0,".repeat(400) + "} end",
        "local t = {} pcall(function() while true do t = { t } end end)");
  }

  private static Stream<Arguments> strings() {
    String operands = "s" + "..s".repeat(150);
    return Stream.of(
        Arguments.of("local s = 'x' while true do s = s .. s end", STRING),
        Arguments.of("local s = ('x'):rep(60000) return " + operands, STRING),
        Arguments.of("local s = ('x'):rep(60000) return pcall(function() return s..s end)", STRING),
        Arguments.of("return ('x'):rep(1e9)", STRING),
        Arguments.of("return ('x'):rep(1e18)", STRING),
        Arguments.of("return (''):rep(1e9, 'x')", STRING),
        Arguments.of("return pcall(string.rep, 'x', 1e9)", STRING),
        Arguments.of("return (('x'):rep(60000):gsub('x', '%0%0'))", MEMORY),
        Arguments.of("return (('x'):rep(300):gsub('x', ('y'):rep(300)))", STRING),
        Arguments.of(
            "return (('x'):rep(300):gsub('x', function() return ('y'):rep(300) end))", STRING),
        Arguments.of("return (('x'):rep(300):gsub('x', { x = ('y'):rep(300) }))", STRING),
        Arguments.of("return ('%s%s'):format(('x'):rep(60000), ('x'):rep(60000))", STRING),
        Arguments.of("return ('%q'):format(('\"'):rep(60000))", STRING),
        Arguments.of("return ('%99d'):format(1):rep(700)", STRING),
        Arguments.of("return ('%99999999d'):format(1)", "width or precision too long"),
        Arguments.of("return ('%.99999999f'):format(1)", "width or precision too long"),
        Arguments.of("local s = ('x'):rep(60000) while true do local a = s:upper() end", MEMORY),
        Arguments.of("local s = ('x'):rep(60000) while true do local a = s:reverse() end", MEMORY),
        Arguments.of(
            "local s = ('x'):rep(60000) while true do local a = s:sub(1, 20000) end", MEMORY),
        Arguments.of("return ('x'):rep(60000):byte(1, -1)", VALUES),
        Arguments.of(
            "local a, b = ('x'):rep(60000) .. 1, ('x'):rep(60000) .. 2 "
                + "local t = {} for i = 1, 500 do t[i] = i % 2 == 0 and a or b end table.sort(t)",
            STEPS));
  }

  private static Stream<Arguments> patterns() {
    return Stream.of(
        Arguments.of("return ('a'):rep(26):match(('a?'):rep(26) .. ('a'):rep(26))", STEPS),
        Arguments.of("return ('a'):rep(300):find(('a*'):rep(20) .. 'b')", STEPS),
        Arguments.of("return ('a'):rep(300):match(('.-'):rep(20) .. 'b')", STEPS),
        Arguments.of("return ('a'):rep(300):gsub(('a-'):rep(20) .. 'b', '')", STEPS),
        Arguments.of("for a in ('a'):rep(300):gmatch(('a*'):rep(20) .. 'b') do end", STEPS),
        Arguments.of(
            "return pcall(string.match, ('a'):rep(30), ('a?'):rep(30) .. ('a'):rep(30))", STEPS),
        Arguments.of("return ('('):rep(60000):match('%b()')", STEPS),
        Arguments.of("return ('a'):rep(60000):match('[' .. ('b'):rep(60000) .. ']')", STEPS),
        Arguments.of("return ('a'):rep(60000):find(('a'):rep(30000) .. 'b', 1, true)", STEPS),
        Arguments.of("return ('a'):rep(15000):match('^(a*)%1b')", STEPS),
        Arguments.of("return ('a'):rep(300):match(('a?'):rep(300))", "pattern too complex"),
        Arguments.of("return ('a'):match(('()'):rep(33))", "too many captures"));
  }

  private static Stream<Arguments> tables() {
    return Stream.of(
        Arguments.of("return table.unpack({}, 1, 1e8)", VALUES),
        Arguments.of("return table.unpack({}, -2^62, 2^62)", VALUES),
        Arguments.of("return pcall(table.unpack, {}, 1, 1e8)", VALUES),
        Arguments.of("local function f(...) return f(1, ...) end return f()", VALUES),
        Arguments.of("local t = {} for i = 1, 1e5 do t = { i, table.unpack(t) } end", VALUES),
        Arguments.of("local t = {'a'} for i = 1, 1e9 do table.insert(t, 1, i) end", STEPS),
        Arguments.of(
            "local t = {} for i = 1, 2000 do t[i] = i end "
                + "while true do table.insert(t, table.remove(t, 1)) end",
            STEPS),
        Arguments.of(
            "local t = {} for i = 1, 2000 do t[i] = 0 end "
                + "table.sort(t, function(a, b) for i = 1, 100 do end return a < b end)",
            STEPS),
        Arguments.of(
            "local t = {} for i = 1, 5000 do t[i] = 'xxxxxxxxxxxxxxxxxxxx' end "
                + "return table.concat(t)",
            STRING),
        Arguments.of(
            "local t = {} for i = 1, 20 do t[i] = i end table.concat(t, ('x'):rep(9999))", STRING),
        Arguments.of("table.insert({}, 2^40, 1)", "position out of bounds"),
        Arguments.of("table.concat({}, '', 1, 1e18)", "invalid value (nil) at index 1"));
  }

  private static Stream<Arguments> recursion() {
    return Stream.of(
        Arguments.of("local function f() return 1 + f() end return f()", DEPTH),
        Arguments.of("local function f() pcall(f) return 1 end return f()", DEPTH),
        Arguments.of("local function f() xpcall(error, f) end return f()", DEPTH),
        Arguments.of(
            "local t = setmetatable({}, {__tostring = tostring}) return tostring(t)", DEPTH),
        Arguments.of("local function f(s) return s:gsub('.', f) end return f('a')", DEPTH),
        Arguments.of("local function f() table.sort({1, 2}, f) end f()", DEPTH),
        Arguments.of(
            "local t = {} setmetatable(t, {__call = t}) return t()", "overflowed the stack"),
        Arguments.of(
            "local t = {} setmetatable(t, {__call = t}) return pcall(t)", "overflowed the stack"),
        Arguments.of("local t = {} setmetatable(t, {__index = t}) return t.x", "loop in gettable"));
  }

  private static Stream<Arguments> metatables() {
    String loops =
        "local m = {} local t = setmetatable({}, m) m.%s = function() while true do end end ";
    return Stream.of(
        Arguments.of(loops.formatted("__index") + "return t.x", STEPS),
        Arguments.of(loops.formatted("__newindex") + "t.x = 1", STEPS),
        Arguments.of(loops.formatted("__len") + "return #t", STEPS),
        Arguments.of(loops.formatted("__add") + "return 1 + t", STEPS),
        Arguments.of(loops.formatted("__unm") + "return -t", STEPS),
        Arguments.of(loops.formatted("__lt") + "return t < t", STEPS),
        Arguments.of(loops.formatted("__le") + "return t <= t", STEPS),
        Arguments.of(loops.formatted("__call") + "return t()", STEPS),
        Arguments.of(loops.formatted("__eq") + "return t == setmetatable({}, m)", STEPS),
        Arguments.of(loops.formatted("__tostring") + "return tostring(t)", STEPS),
        Arguments.of(loops.formatted("__tostring") + "return ('%s'):format(t)", STEPS),
        Arguments.of(loops.formatted("__concat") + "return t .. 'x'", "concatenate a table"),
        Arguments.of("setmetatable({}, { __mode = 'k' })", "weak tables are not supported"));
  }

  /** Numbers are objects, so a loop allocates as well. */
  @ParameterizedTest
  @MethodSource("loops")
  void loop_isStoppedByItsInstructions(String script) {
    ScriptRunner roomy = runner(new HookLimits(100_000, 1, 1 << 30));
    assertThat(roomy.failure(script)).contains(STEPS);
    assertThat(roomy.spent()).isEqualTo(100_001);
    assertThat(runner.failure(script)).containsAnyOf(STEPS, MEMORY);
  }

  @ParameterizedTest
  @MethodSource("memory")
  void growth_isStoppedByItsMemory(String script) {
    ScriptRunner patient = runner(new HookLimits(100_000_000, 1, 1 << 20));
    assertThat(patient.failure(script)).contains(MEMORY);
    assertThat(patient.usedBytes()).isLessThan((1 << 20) + SLACK_BYTES);
    assertThat(runner.failure(script)).containsAnyOf(STEPS, MEMORY);
  }

  private static ScriptRunner runner(HookLimits limits) {
    return new ScriptRunner(limits, ScriptRunner.STANDING_CLOCK, LuaSandbox.allocatedBytes());
  }

  @ParameterizedTest
  @MethodSource("bombs")
  void memoryBomb_isStopped(String script, String why) {
    assertThat(runner.failure(script)).contains(why);
    assertThat(runner.spent()).isLessThanOrEqualTo(100_001);
    assertThat(runner.usedBytes()).isLessThan(HookLimits.DEFAULT.memoryBytes() + SLACK_BYTES);
    assertThat(runner.text("return 'still ' .. 'well'")).isEqualTo("still well");
  }

  @Test
  void timeLimit_stopsAScriptOfFewInstructions() {
    long[] now = {0};
    HookLimits limits = new HookLimits(Integer.MAX_VALUE, 10_000_000, 1 << 20);
    ScriptRunner slow =
        new ScriptRunner(limits, () -> now[0] += 100_000, LuaSandbox.allocatedBytes());
    assertThat(slow.failure("while true do end")).contains("ran for more than 10000000 ns");
    assertThat(slow.spent()).isLessThan(10_000);
  }

  @Test
  void timeLimit_ignoresOnePauseOfTheProcess() {
    long[] now = {0};
    ScriptRunner paused =
        new ScriptRunner(
            HookLimits.DEFAULT,
            () -> {
              now[0] += now[0] == 0 ? 1 : now[0] == 1 ? 1_000_000_000 : 1;
              return now[0];
            },
            LuaSandbox.allocatedBytes());
    assertThat(paused.text("for i = 1, 1000 do end return 'done'")).isEqualTo("done");
  }

  @Test
  void memory_isEstimatedIfTheJvmDoesNotMeasureIt() {
    ScriptRunner blind =
        new ScriptRunner(HookLimits.DEFAULT, ScriptRunner.STANDING_CLOCK, () -> -1);
    assertThat(blind.failure("local t = {} while true do t = { t } end")).contains(MEMORY);
    assertThat(blind.failure("while true do local s = ('x'):rep(60000) end")).contains(MEMORY);
    String cut = "local s = ('x'):rep(60000) while true do local t = s:sub(1, 20000) end";
    assertThat(blind.failure(cut)).contains(MEMORY);
  }

  @Test
  void headers_ofAnySizeAreReadWithinTheBudget() {
    Map<String, String> many =
        IntStream.range(0, 50_000)
            .boxed()
            .collect(Collectors.toMap(i -> "header-" + i, i -> "value-" + i));
    assertThat(runner.failure("for k, v in pairs(headers) do end", many)).contains(MEMORY);
    assertThat(runner.run("return headers['header-7']", many).tojstring()).isEqualTo("value-7");
    Map<String, String> huge = Map.of("x", "y".repeat(5_000_000));
    assertThat(runner.failure("return #headers.x", huge)).contains(MEMORY);
  }
}
