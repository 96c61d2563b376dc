package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.LuaSandbox;
import dev.sluice.broker.internal.lua.ResourceGuard;
import dev.sluice.broker.internal.lua.StringLibrary;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.luaj.vm2.LuaError;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;
import org.luaj.vm2.lib.jse.JsePlatform;

/** The string library behaves like that of Lua 5.2. */
@Tag("any-jdk")
@Timeout(20)
class LuaStringLibraryTest {
  private static final long SEED = 20_261_115;
  private static final int CASES = 20_000;

  /** Without %p, %g and frontiers at the end, which LuaJ has wrong. */
  private static final String[] ITEMS = {
    "a", "b", "c", "1", " ", "_", ".", "%a", "%d", "%l", "%s", "%u", "%w", "%x", "%A", "%D", "%S",
    "%W", "[abc]", "[^ab]", "[a-c1]", "[%a_]", "[^%s]", "%.", "%%", "%-", "[]]", "[a-]",
  };

  private static final String[] SUFFIXES = {"", "", "", "*", "+", "-", "?"};
  private static final String[] REPLACEMENTS = {"", "x", "<%0>", "%%", "%1", "%2%1"};

  private final LuaTable theirs = JsePlatform.standardGlobals().get("string").checktable();
  private final ResourceGuard guard =
      new ResourceGuard(
          new HookLimits(1 << 30, Long.MAX_VALUE, 1 << 30), () -> 0, LuaSandbox.allocatedBytes());
  private final LuaTable ours = StringLibrary.table(guard);
  private final Random random = new Random(SEED);

  @Test
  void patterns_matchAsInLuaJ() {
    int matches = 0;
    for (int i = 0; i < CASES; i++) {
      LuaValue text = LuaValue.valueOf(subject());
      LuaValue pattern = LuaValue.valueOf(pattern());
      LuaValue init = LuaValue.valueOf(random.nextInt(text.length() + 1) + 1);
      LuaValue replacement = LuaValue.valueOf(pick(REPLACEMENTS));
      String found = same("find", LuaValue.varargsOf(new LuaValue[] {text, pattern, init}));
      same("match", LuaValue.varargsOf(text, pattern));
      same("gsub", LuaValue.varargsOf(new LuaValue[] {text, pattern, replacement}));
      same("find", LuaValue.varargsOf(new LuaValue[] {text, pattern, init, LuaValue.TRUE}));
      matches += found.equals("[nil]") || found.equals("error") ? 0 : 1;
    }
    assertThat(matches).isBetween(CASES / 4, CASES - CASES / 10);
  }

  @Test
  void gmatch_findsAsInLuaJ() {
    for (int i = 0; i < CASES; i++) {
      LuaValue text = LuaValue.valueOf(subject());
      // LuaJ's never ends on an empty match.
      LuaValue pattern = LuaValue.valueOf(pick(ITEMS) + pattern().replace("$", ""));
      assertThat(all(ours, text, pattern))
          .as("gmatch(%s, %s)", text, pattern)
          .isEqualTo(all(theirs, text, pattern));
    }
  }

  @Test
  void simpleFunctions_returnAsInLuaJ() {
    for (int i = 0; i < CASES; i++) {
      LuaValue text = LuaValue.valueOf(subject());
      LuaValue from = LuaValue.valueOf(random.nextInt(30) - 15);
      LuaValue to = LuaValue.valueOf(random.nextInt(30) - 15);
      same("sub", LuaValue.varargsOf(text, from, to));
      same("byte", LuaValue.varargsOf(text, from.checkint() == 0 ? LuaValue.ONE : from, to));
      for (String name : List.of("len", "lower", "upper", "reverse")) {
        same(name, text);
      }
      same("rep", LuaValue.varargsOf(text, LuaValue.valueOf(random.nextInt(5))));
      same("char", LuaValue.varargsOf(LuaValue.valueOf(random.nextInt(256)), LuaValue.ONE));
    }
  }

  /** The results of Lua 5.2 where LuaJ is wrong. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          ("THE (quick) fox"):find("%f[%a]%a+%f[%A]")           | 1 3
          ("THE (quick) fox"):find("%f[%a]%a+%f[%A]", 4)        | 6 10
          ("the end"):match("%f[%w]%w+%f[%W]$")                 | end
          ("a[b]c"):gsub("%p", ".")                             | a.b.c 2
          ("a{b}~c"):gsub("%p", "")                             | abc 3
          ("\\11x"):find("%s")                                   | 1 1
          (" a b"):gsub("%g", "x")                              | ` x x 2`
          ("abc"):gsub("", "-")                                 | -a-b-c- 4
          ("abc"):gsub("b*", "-")                               | -a--c- 4
          ("hello"):gsub("l", { l = "L" })                      | heLLo 2
          ("hello"):gsub("l", function(c) return nil end)       | hello 2
          ("hello"):gsub("l", "L", 1)                           | heLlo 1
          ("hello"):find("")                                    | 1 0
          ("hello"):find("", 10)                                | nil
          ("hello"):find("l", -2)                               | 4 4
          ("hello"):find("xyz")                                 | nil
          ("a.b"):find(".", 1, true)                            | 2 2
          ("key = value"):match("^(%w+)%s*=%s*(%w+)$")          | key value
          ("f(a(b)c)d"):match("%b()")                           | (a(b)c)
          ("abab"):match("(ab)%1")                              | ab
          ("abc"):match("()b()")                                | 2 3
          ("x^y"):match("x^y")                                  | x^y
          ("abc"):rep(3, "-")                                   | abc-abc-abc
          ("abc"):rep(-1)                                       | ``
          ("%5d;%-5d;%05d;%+d;% d"):format(42, 42, 42, 42, 42)  | `   42;42   ;00042;+42; 42`
          ("%5.1f;%.3f;%.0f;%e"):format(3.14159, 2, 0.5, 12345) | `  3.1;2.000;0;1.234500e+04`
          ("%g %g %g %g"):format(100000, 1e6, 1e-5, 0.1)        | 100000 1e+06 1e-05 0.1
          ("%g %g %g"):format(1e300, -0.5, 1/0)                 | 1e+300 -0.5 inf
          ("%x %X %o %c %u"):format(255, 255, 8, 65, 7)         | ff FF 10 A 7
          ("%s %s %10.2s;%-4s;"):format(nil, 1.5, "abc", "a")   | `nil 1.5         ab;a   ;`
          ("%q"):format('a"b')                                  | "a\\"b"
          ("%d%%"):format(3.7)                                  | 3%
          tostring(0.1) .. " " .. tostring(1e15) .. " " .. 2^53 | 0.1 1000000000000000 9007199254740992
          1234567.891 .. " " .. 1e300 .. " " .. -1/0            | 1234567.891 1e+300 -inf
          tostring(1/3)                                         | 0.33333333333333
          """)
  void stringFunctions_returnAsInLua52(String expression, String expected) {
    String script =
        "local out = table.pack("
            + expression
            + ") for i = 1, out.n do out[i] = tostring(out[i]) end "
            + "return table.concat(out, ' ')";
    assertThat(new ScriptRunner().text(script)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ("a"):match("[a")          | missing ']'
          ("a"):match("%")           | ends with '%'
          ("a"):match("(a")          | unfinished capture
          ("a"):match("a)")          | invalid pattern capture
          ("a"):match("%1")          | invalid capture index
          ("a"):match("%f")          | a frontier needs a set
          ("("):match("%b(")         | a balance needs two characters
          ("a"):gsub("a", "%x")      | invalid use of '%'
          ("a"):gsub("a", "%2")      | invalid capture index
          ("a"):gsub("a", true)      | string/function/table expected
          ("a"):gsub("a", function() return {} end) | invalid replacement value (a table)
          ("%y"):format(1)           | invalid option '%y'
          ("%d"):format("x")         | number expected, got string
          ("%s"):format()            | no value
          string.rep()               | bad argument #1 (string expected, got no value)
          string.char(256)           | value out of range
          """)
  void error_namesTheCause(String expression, String message) {
    assertThat(new ScriptRunner().failure("local it = " + expression))
        .contains("hook:2: ", message);
  }

  private String same(String function, Varargs args) {
    String our = outcome(ours.get(function), args);
    assertThat(our).as("%s%s", function, args).isEqualTo(outcome(theirs.get(function), args));
    return our;
  }

  private String outcome(LuaValue function, Varargs args) {
    guard.begin();
    try {
      return text(function.invoke(args));
    } catch (LuaError | IndexOutOfBoundsException e) {
      return "error";
    }
  }

  private List<String> all(LuaTable library, LuaValue text, LuaValue pattern) {
    List<String> found = new ArrayList<>();
    try {
      guard.begin();
      LuaValue next = library.get("gmatch").call(text, pattern);
      for (Varargs match = next.invoke(); !match.isnil(1); match = next.invoke()) {
        found.add(text(match));
      }
    } catch (LuaError | IndexOutOfBoundsException e) {
      found.add("error");
    }
    return found;
  }

  private static String text(Varargs values) {
    List<String> texts = new ArrayList<>();
    for (int i = 1; i <= values.narg(); i++) {
      texts.add(values.arg(i).tojstring());
    }
    return texts.toString();
  }

  private String subject() {
    StringBuilder text = new StringBuilder();
    int length = random.nextInt(12);
    for (int i = 0; i < length; i++) {
      text.append("aabbcAB12 _.-%]".charAt(random.nextInt(15)));
    }
    return text.toString();
  }

  private String pattern() {
    StringBuilder pattern = new StringBuilder(random.nextInt(5) == 0 ? "^" : "");
    int items = 1 + random.nextInt(4);
    for (int i = 0; i < items; i++) {
      String item = pick(ITEMS) + pick(SUFFIXES);
      pattern.append(random.nextInt(4) == 0 ? "(" + item + ")" : item);
    }
    return pattern + (random.nextInt(6) == 0 ? "$" : "");
  }

  private String pick(String[] choices) {
    return choices[random.nextInt(choices.length)];
  }
}
