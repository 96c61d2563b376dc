package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookEngine.EnqueueHook;
import dev.sluice.broker.internal.hooks.HookEngine.FailureHook;
import dev.sluice.broker.internal.hooks.HookEngine.Retry;
import dev.sluice.broker.internal.hooks.HookException;
import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.LuaHookEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(20)
class LuaHookEngineTest {
  private final LuaHookEngine engine = new LuaHookEngine(HookLimits.DEFAULT, () -> 0);

  @Test
  void enqueue_seesTheMessage() {
    EnqueueHook hook =
        engine.compileEnqueue(
            """
            function on_enqueue(msg)
              return {
                fairness_key = msg.queue .. ":" .. msg.headers.tenant .. ":" .. msg.payload_size,
                weight = 3,
                throttle_keys = { fila.get("a"), sluice.get("a"), tostring(sluice.get("none")) },
              }
            end
            """);
    HookEngine.EnqueueContext arrival =
        new HookEngine.EnqueueContext("orders", Map.of("tenant", "acme"), 512);
    assertThat(hook.run(arrival, Map.of("a", "b")))
        .isEqualTo(new HookEngine.EnqueueResult("orders:acme:512", 3, List.of("b", "b", "nil")));
  }

  @Test
  void failure_seesTheMessage() {
    FailureHook hook =
        engine.compileFailure(
            """
            function on_failure(msg)
              assert(msg.id == "00000000-0000-0001-0000-000000000002")
              assert(msg.queue == "orders" and msg.error == "boom" and msg.headers.a == "b")
              return { action = "retry", delay_ms = 100 * msg.attempts }
            end
            """);
    HookEngine.FailureContext failure =
        new HookEngine.FailureContext("orders", new UUID(1, 2), Map.of("a", "b"), 4, "boom");
    assertThat(hook.run(failure, Map.of())).isEqualTo(new Retry(400));
  }

  @Test
  void failure_seesATruncatedError() {
    FailureHook hook =
        engine.compileFailure("function on_failure(msg) return { delay_ms = #msg.error } end");
    HookEngine.FailureContext failure =
        new HookEngine.FailureContext("q", new UUID(0, 0), Map.of(), 1, "e".repeat(10_000_000));
    assertThat(hook.run(failure, Map.of())).isEqualTo(new Retry(16_384));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          nil                                       | default | 1       | ``
          {}                                        | default | 1       | ``
          { fairness_key = 42 }                     | 42      | 1       | ``
          { fairness_key = 0.5 }                    | 0.5     | 1       | ``
          { fairness_key = {} }                     | default | 1       | ``
          { fairness_key = true }                   | default | 1       | ``
          { fairness_key = print }                  | default | 1       | ``
          { fairness_key = "" }                     | default | 1       | ``
          { throttle_keys = { "a", "", "b" } }      | default | 1       | a
          { fairness_key = "ä\\226\\130\\172\\240\\159\\146\\167" } | ä€💧 | 1  | ``
          { fairness_key = "a\\255" }               | a\uFFFD | 1       | ``
          { weight = 5 }                            | default | 5       | ``
          { weight = "5" }                          | default | 5       | ``
          { weight = 0 }                            | default | 1       | ``
          { weight = -3 }                           | default | 1       | ``
          { weight = 2.5 }                          | default | 1       | ``
          { weight = 0/0 }                          | default | 1       | ``
          { weight = math.huge }                    | default | 1000000 | ``
          { weight = 1e6 + 1 }                      | default | 1000000 | ``
          { weight = {} }                           | default | 1       | ``
          { weight = "many" }                       | default | 1       | ``
          { throttle_keys = "a" }                   | default | 1       | ``
          { throttle_keys = { "a", "b" } }          | default | 1       | a b
          { throttle_keys = { "a", nil, "b" } }     | default | 1       | a
          { throttle_keys = { "a", {}, "b" } }      | default | 1       | a
          { throttle_keys = { nil, "b" } }          | default | 1       | ``
          { throttle_keys = { 1, 2 } }              | default | 1       | 1 2
          { throttle_keys = { x = "a" } }           | default | 1       | ``
          { throttle_keys = { (("k "):rep(40)):byte(1, 40) } } | default | 1 | 107 32 107 32 107 32 107 32 107 32 107 32 107 32 107 32
          setmetatable({}, { __index = function() error("no") end }) | default | 1 | ``
          msg.headers                               | default | 1       | ``
          _G                                        | default | 1       | ``
          """)
  void enqueue_answerIsRead(String answer, String key, int weight, String throttles) {
    EnqueueHook hook = engine.compileEnqueue("function on_enqueue(msg) return " + answer + " end");
    List<String> keys = throttles.isEmpty() ? List.of() : List.of(throttles.split(" "));
    assertThat(hook.run(new HookEngine.EnqueueContext("q", Map.of(), 0), Map.of()))
        .isEqualTo(new HookEngine.EnqueueResult(key, weight, keys));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          nil                                       | 0
          {}                                        | 0
          { action = "retry" }                      | 0
          { action = "dlq" }                        | -1
          { action = "dlq", delay_ms = 5 }          | -1
          { action = "DLQ" }                        | 0
          { action = {}, delay_ms = 5 }             | 5
          { delay_ms = "20" }                       | 20
          { delay_ms = 2.9 }                        | 2
          { delay_ms = -1 }                         | 0
          { delay_ms = 0/0 }                        | 0
          { delay_ms = {} }                         | 0
          { delay_ms = math.huge }                  | 604800000
          { delay_ms = 2 ^ 70 }                     | 604800000
          """)
  void failure_answerIsRead(String answer, long delay) {
    FailureHook hook = engine.compileFailure("function on_failure(msg) return " + answer + " end");
    HookEngine.FailureResult expected =
        delay < 0 ? new HookEngine.MoveToDeadLetters() : new Retry(delay);
    assertThat(
            hook.run(new HookEngine.FailureContext("q", new UUID(0, 0), Map.of(), 1, ""), Map.of()))
        .isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          return 5                          | must return a table, not a number
          return "key"                      | must return a table, not a string
          return { fairness_key = ("x"):rep(257) }    | a key must be at most 256 bytes
          return { throttle_keys = { ("x"):rep(257) } } | a key must be at most 256 bytes
          local x = nil + 1                 | on_enqueue:1: attempt to perform arithmetic
          local x = msg.none.x              | on_enqueue:1: attempt to index
          local x = "a" .. nil              | on_enqueue:1: attempt to concatenate a nil value
          error("boom")                     | on_enqueue:1: boom
          error("boom", 0)                  | boom
          error({ code = 5 })               | error object is a table
          error()                           | error object is a nil
          error(42)                         | 42
          assert(false, "no luck")          | no luck
          assert(nil)                       | assertion failed!
          while true do end                 | on_enqueue:1: used more than 100000 instructions
          """)
  void enqueue_errorIsReported(String body, String message) {
    EnqueueHook hook = engine.compileEnqueue("function on_enqueue(msg) " + body + " end");
    assertThatThrownBy(() -> hook.run(new HookEngine.EnqueueContext("q", Map.of(), 0), Map.of()))
        .isInstanceOf(HookException.class)
        .hasMessageContaining(message);
  }

  @Test
  void enqueue_errorIsTruncated() {
    EnqueueHook hook = engine.compileEnqueue("function on_enqueue() error(('x'):rep(60000)) end");
    assertThatThrownBy(() -> hook.run(new HookEngine.EnqueueContext("q", Map.of(), 0), Map.of()))
        .isInstanceOf(HookException.class)
        .satisfies(e -> assertThat(e.getMessage()).startsWith("on_enqueue:1: xxx").hasSize(503));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          function on_enqueue(                    | on_enqueue:1:
          `\n\nlocal x = = 1`                     | on_enqueue:3:
          local x <const> = 1                     | on_enqueue:1:
          return 7 // 2                           | on_enqueue:1:
          `\nreturn 1e`                           | on_enqueue:2: malformed number
          `\nreturn "\\z  `                       | on_enqueue:2: unfinished string
          return 7 & 2                            | on_enqueue:1:
          x = 1                                   | defines no function on_enqueue
          local function on_enqueue() end         | defines no function on_enqueue
          on_enqueue = {}                         | defines no function on_enqueue
          function on_failure() end               | defines no function on_enqueue
          while true do end                       | on_enqueue:1: used more than 100000 instructions
          x = ("x"):rep(1e9)                      | on_enqueue:1: built a string
          error("at once")                        | on_enqueue:1: at once
          ``                                      | defines no function on_enqueue
          """)
  void compile_errorIsReported(String source, String message) {
    assertThatThrownBy(() -> engine.compileEnqueue(source))
        .isInstanceOf(HookException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"(", "{", "not ", "-", "if x then ", "function f() ", "f(", "x.", "[["})
  void compile_nestingIsBounded(String opening) {
    assertThatThrownBy(() -> engine.compileEnqueue("x = " + opening.repeat(5000)))
        .isInstanceOf(HookException.class)
        .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(510));
  }

  @Test
  void compile_sizeIsBounded() {
    assertThatThrownBy(() -> engine.compileEnqueue(" ".repeat(65_537)))
        .isInstanceOf(HookException.class)
        .hasMessageContaining("at most 65536 bytes");
  }

  @Test
  void compile_bytecodeIsRefused() {
    assertThatThrownBy(() -> engine.compileEnqueue("\u001bLuaR\0\1\4\4\4\10\0"))
        .isInstanceOf(HookException.class);
  }

  /** A script may end anywhere; the compiler never hangs or throws anything else. */
  @Test
  void compile_everyPrefixEitherWorksOrIsRefused() {
    String script =
        """
        --[[ long ]] local t = { [1] = "a\\tb\\65\\x41\\z  c", x = [==[ long ]==], 0x1F, 1e5, ... }
        function on_enqueue(msg) goto done; repeat local a <= 1 until not (t.x ~= #t) ::done:: end
        """;
    for (int end = 0; end < script.length(); end++) {
      String prefix = script.substring(0, end);
      assertThatThrownBy(() -> engine.compileEnqueue(prefix)).isInstanceOf(HookException.class);
    }
  }

  @Test
  void call_seesNoStateOfEarlierCallsOrOtherQueues() {
    String counting =
        "n = (n or 0) + 1 function on_enqueue() n = n + 1 other = 1 return { weight = n } end";
    EnqueueHook one = engine.compileEnqueue(counting);
    EnqueueHook two =
        engine.compileEnqueue(
            "function on_enqueue() return { fairness_key = tostring(other) } end");
    HookEngine.EnqueueContext arrival = new HookEngine.EnqueueContext("q", Map.of(), 0);
    for (int i = 0; i < 5; i++) {
      assertThat(one.run(arrival, Map.of()).weight()).isEqualTo(2);
      assertThat(two.run(arrival, Map.of()).fairnessKey()).isEqualTo("nil");
    }
  }

  @Test
  void concurrentCalls_getTheirOwnResults() throws Exception {
    EnqueueHook good =
        engine.compileEnqueue(
            """
            function on_enqueue(msg)
              id = msg.headers.id
              for i = 1, 50 do local s = ("x"):rep(i):upper() end
              return { fairness_key = id, weight = #id, throttle_keys = { sluice.get("id") .. id } }
            end
            """);
    EnqueueHook bad =
        engine.compileEnqueue("function on_enqueue() id = 'bad' while true do end end");
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        String name = "thread" + t;
        runs.add(threads.submit(() -> callOften(good, bad, name)));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void callOften(EnqueueHook good, EnqueueHook bad, String name) {
    for (int i = 0; i < 300; i++) {
      String id = name + "-" + i;
      HookEngine.EnqueueContext arrival = new HookEngine.EnqueueContext("q", Map.of("id", id), 0);
      assertThat(good.run(arrival, Map.of("id", name)))
          .isEqualTo(new HookEngine.EnqueueResult(id, id.length(), List.of(name + id)));
      if (i % 100 == 0) {
        assertThatThrownBy(() -> bad.run(arrival, Map.of())).isInstanceOf(HookException.class);
      }
    }
  }
}
