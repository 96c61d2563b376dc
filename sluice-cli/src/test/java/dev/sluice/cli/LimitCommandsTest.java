package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits, throttles and configuration. */
final class LimitCommandsTest {
  @TempDir static Path dir;
  private static CliServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new CliServer(dir, null);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void decide_denied_hasItsOwnExitCode() {
    assertThat(server.ok("limit", "set", "slow", "--rate", "0.001", "--burst", "2"))
        .isEqualTo("set slow\n");
    assertThat(server.json("limit", "decide", "slow=2", "--peek", "--json"))
        .containsExactly(Map.of("outcome", "GRANTED", "remaining", 0L));
    assertThat(server.ok("limit", "decide", "slow=2")).isEqualTo("granted\n");
    Cli denied = server.run("limit", "decide", "slow", "--json");
    assertThat(denied.exitCode()).isEqualTo(3);
    assertThat(denied.json())
        .containsEntry("outcome", "DENIED")
        .containsEntry("limit_name", "slow")
        .hasEntrySatisfying(
            "retry_after_ns", nanos -> assertThat((Long) nanos).isBetween(1L, 1_000_000_000_000L));
    assertThat(server.run("limit", "decide", "slow").out())
        .matches("denied by slow: retry in .*s\n");
    Cli never = server.run("limit", "decide", "slow=3", "--json");
    assertThat(never.exitCode()).isEqualTo(3);
    assertThat(never.json())
        .isEqualTo(Map.of("outcome", "IMPOSSIBLE", "limit_name", "slow", "capacity", 2L));
    server.ok("limit", "set", "once", "--rate", "0", "--burst", "1");
    server.ok("limit", "decide", "once");
    Cli depleted = server.run("limit", "decide", "once", "--json");
    assertThat(depleted.exitCode()).isEqualTo(3);
    assertThat(depleted.json()).isEqualTo(Map.of("outcome", "DEPLETED", "limit_name", "once"));
  }

  @Test
  void limits_setListRemove() {
    server.ok("limit", "set", "tenant:*", "--rate", "5", "--json");
    assertThat(server.ok("limit", "list").lines())
        .anyMatch(line -> line.matches("tenant:\\* +5 +5"));
    assertThat((List<?>) server.json("limit", "list", "--json").get(0).get("limits"))
        .asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.LIST)
        .contains(Map.of("name", "tenant:*", "rate_per_second", 5.0, "burst", 5.0));
    assertThat(server.ok("limit", "remove", "tenant:*")).isEqualTo("removed tenant:*\n");
    assertThat(server.fails(1, "limit", "decide", "tenant:a")).contains("tenant:a");
  }

  @Test
  void throttles_setListRemove() {
    assertThat(server.json("throttle", "set", "p", "--rate", "0.5", "--burst", "3", "--json"))
        .containsExactly(Map.of("key", "p", "rate_per_second", 0.5, "burst", 3.0));
    assertThat(server.ok("throttle", "list"))
        .isEqualTo("KEY  RATE/S  BURST  LEVEL\np       0.5      3      3\n");
    assertThat(server.json("throttle", "list", "--json"))
        .containsExactly(
            Map.of(
                "throttles",
                List.of(Map.of("key", "p", "rate_per_second", 0.5, "burst", 3.0, "level", 3.0))));
    assertThat(server.ok("throttle", "remove", "p")).isEqualTo("removed p\n");
    assertThat(server.ok("throttle", "list")).isEqualTo("KEY  RATE/S  BURST  LEVEL\n");
  }

  @Test
  void config_setGetListDelete() {
    assertThat(server.ok("config", "set", "weight.a", "3")).isEqualTo("set weight.a\n");
    server.ok("config", "set", "other", "a \"b\"");
    assertThat(server.ok("config", "get", "weight.a")).isEqualTo("3\n");
    assertThat(server.json("config", "get", "other", "--json"))
        .containsExactly(Map.of("key", "other", "value", "a \"b\""));
    assertThat(server.ok("config", "list", "--prefix", "weight."))
        .isEqualTo("KEY       VALUE\nweight.a  3\n");
    assertThat(server.json("config", "list", "--prefix", "o", "--json"))
        .containsExactly(Map.of("entries", List.of(Map.of("key", "other", "value", "a \"b\""))));
    assertThat(server.ok("config", "delete", "weight.a")).isEqualTo("deleted weight.a\n");
    assertThat(server.fails(1, "config", "get", "weight.a")).contains("weight.a");
  }

  @Test
  void badInput_isWrongUsage() {
    assertThat(server.fails(2, "limit", "set", "k")).contains("--rate");
    assertThat(server.fails(2, "limit", "set", "k", "--rate", "fast"))
        .contains("it must be a number such as 10 or 0.5, but was 'fast'");
    assertThat(server.fails(2, "limit", "decide")).contains("NAME[=TOKENS]");
    assertThat(server.fails(2, "limit", "decide", "k", "k=2"))
        .contains("a name can be given only once: 'k'");
    assertThat(server.fails(1, "limit", "set", "", "--rate", "1")).contains("limit name must have");
  }
}
