package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class QueueCommandsTest {
  private static final Map<String, Object> TOTALS =
      Map.of("enqueued", 1L, "delivered", 0L, "acked", 0L, "failed", 0L, "dead_lettered", 0L);

  @TempDir static Path dir;
  private static CliServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new CliServer(dir.resolve("data"), null);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void create_everySetting_isShown() throws Exception {
    Path enqueue =
        Files.writeString(dir.resolve("enqueue.lua"), "function on_enqueue(msg) return {} end\n");
    Path failure =
        Files.writeString(
            dir.resolve("failure.lua"), "function on_failure(msg) return { action = 'dlq' } end\n");
    String out =
        server.ok(
            ("queue create all --lease-timeout 7s --durability os --max-attempts 4 --retry-delay 2s"
                    + " --max-retry-delay 1m --strict-order --strict-throttle-keys"
                    + " --max-depth 100 --max-depth-per-key 10 --max-in-flight-per-key 3 --ttl 1h"
                    + " --dedupe-window 1m --on-enqueue "
                    + enqueue
                    + " --on-failure "
                    + failure)
                .split(" "));
    assertThat(out).isEqualTo("created all\n");
    Map<String, Object> shown = server.json("queue", "show", "all", "--json").get(0);
    assertThat(shown.get("name")).isEqualTo("all");
    assertThat(shown.get("config"))
        .isEqualTo(
            Map.ofEntries(
                Map.entry("lease_timeout_ms", 7_000L),
                Map.entry("durability", "OS"),
                Map.entry("on_enqueue", Files.readString(enqueue)),
                Map.entry("on_failure", Files.readString(failure)),
                Map.entry("max_attempts", 4L),
                Map.entry("retry_delay_ms", 2_000L),
                Map.entry("max_retry_delay_ms", 60_000L),
                Map.entry("strict_order", true),
                Map.entry("max_depth", 100L),
                Map.entry("max_depth_per_key", 10L),
                Map.entry("max_in_flight_per_key", 3L),
                Map.entry("time_to_live_ms", 3_600_000L),
                Map.entry("dedupe_window_ms", 60_000L),
                Map.entry("strict_throttle_keys", true)));
    assertThat(shown.get("hook_throttle_keys")).isEqualTo(List.of("*"));
    assertThat(server.ok("queue", "show", "all").lines())
        .contains(
            "lease-timeout          7s",
            "durability             os",
            "strict-order           yes",
            "strict-throttle-keys   yes",
            "ttl                    1h",
            "on-enqueue",
            "  function on_enqueue(msg) return {} end",
            "hook-throttle-keys     *");
  }

  @Test
  void update_changesGivenSettingsOnly() {
    server.ok(
        "queue", "create", "u", "--lease-timeout", "7s", "--max-depth", "5", "--strict-order");
    server.ok("queue", "update", "u", "--max-depth-per-key", "2", "--no-strict-order");
    assertThat(server.ok("queue", "show", "u"))
        .contains("lease-timeout          7s\n", "max-depth              5\n")
        .contains("max-depth-per-key      2\n", "strict-order           no\n");
    Object before = server.json("queue", "show", "u", "--json").get(0).get("revision");
    Map<String, Object> updated =
        server
            .json(
                "queue",
                "update",
                "u",
                "--lease-timeout",
                "9s",
                "--revision",
                "" + before,
                "--json")
            .get(0);
    Object after = server.json("queue", "show", "u", "--json").get(0).get("revision");
    assertThat(updated).isEqualTo(Map.of("name", "u", "updated", true, "revision", after));
    assertThat(server.fails(1, "queue", "update", "u", "--ttl", "1h", "--revision", "" + before))
        .contains("the queue has changed", "revision=" + after, "expected=" + before);
    assertThat(server.ok("queue", "show", "u"))
        .contains("ttl                    none\n", "revision               " + after + "\n");
  }

  @Test
  void update_withoutASetting_isWrongUsage_andChangesNothing() {
    server.ok("queue", "create", "same", "--max-depth", "5");
    assertThat(server.fails(2, "queue", "update", "same"))
        .contains("at least one setting is required");
    server.ok("queue", "update", "same", "--max-attempts", "0");
    assertThat(server.ok("queue", "show", "same"))
        .contains("max-depth              5\n", "max-attempts           none\n")
        .contains("retry-delay            1s\n", "max-retry-delay        5m\n");
  }

  @Test
  void list_andStats() {
    server.ok("queue", "create", "l");
    server.ok("message", "send", "l", "x", "--fairness-key", "tenant");
    assertThat(server.ok("queue", "list").lines())
        .first()
        .asString()
        .matches("QUEUE +DEPTH  IN FLIGHT  CONSUMERS");
    List<?> queues = (List<?>) server.json("queue", "list", "--json").get(0).get("queues");
    assertThat(queues)
        .asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.LIST)
        .contains(
            Map.of("name", "l", "depth", 1L, "in_flight", 0L, "consumers", 0L, "totals", TOTALS));
    assertThat(server.json("queue", "stats", "l", "--json").get(0))
        .containsOnlyKeys(
            "depth",
            "in_flight",
            "delayed",
            "consumers",
            "fairness_keys",
            "totals",
            "unknown_throttle_keys",
            "last_unknown_throttle_key")
        .containsEntry("depth", 1L)
        .containsEntry("totals", TOTALS);
    assertThat(server.ok("queue", "stats", "l"))
        .contains(
            "depth                  1\n",
            "\nenqueued so far        1\ndelivered so far       0\n",
            "FAIRNESS KEY  PENDING  WEIGHT  DEFICIT\ntenant              1");
  }

  @Test
  void purge_andDelete_askFirst() {
    server.ok("queue", "create", "p");
    server.ok("message", "send", "p", "x");
    assertThat(server.fails(2, "queue", "purge", "p"))
        .contains("confirmation needs a terminal or --yes");
    assertThat(server.fails(2, "queue", "delete", "p"))
        .contains("confirmation needs a terminal or --yes");
    Cli no = server.run(new Cli.Setting().answer("n\n"), "queue", "purge", "p");
    assertThat(no.exitCode()).isEqualTo(1);
    assertThat(no.err()).startsWith("Delete all messages of 'p' that are not in flight? [y/N] ");
    assertThat(server.ok("queue", "stats", "p")).contains("depth                  1\n");
    Cli yes = server.run(new Cli.Setting().answer("y\n"), "queue", "purge", "p");
    assertThat(yes.exitCode()).isZero();
    assertThat(yes.out()).isEqualTo("deleted 1\n");
    assertThat(server.json("queue", "purge", "p", "--yes", "--json"))
        .containsExactly(Map.of("purged", 0L));
    assertThat(server.json("queue", "delete", "p", "--yes", "--json"))
        .containsExactly(Map.of("name", "p", "deleted", true));
    assertThat(server.ok("queue", "list")).doesNotContain("\np ");
  }

  @Test
  void unknownQueue_suggestsSimilarNames() {
    server.ok("queue", "create", "billing");
    assertThat(server.fails(1, "queue", "show", "biling"))
        .isEqualTo("sluice queue show: unknown queue: biling; did you mean billing?\n");
    assertThat(server.fails(1, "message", "send", "zzz", "x"))
        .isEqualTo("sluice message send: unknown queue: queue=zzz\n");
    assertThat(server.fails(1, "queue", "create", "billing")).contains("billing");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          create                        | Missing required parameter: 'QUEUE'
          create b --lease-timeout 5    | a duration must be a number with the unit ns, us, ms, s, m, h or d, such as 1.5s, but was '5'
          create b --lease-timeout 1us  | a duration must be whole milliseconds here, but was '1us'
          create b --max-attempts -1    | it must be a whole number of at most 18 digits, but was '-1'
          create b --max-attempts 3000000000 | it must be at most 2147483647, but was '3000000000'
          create b --durability never   | --durability must be always, interval or os, but was 'never'
          create b --on-enqueue /none   | cannot read '/none': no such file
          lst                           | unknown command 'lst'; did you mean list
          """)
  void badInput_isWrongUsage(String args, String sentence) {
    assertThat(server.fails(2, ("queue " + args).split(" "))).contains(sentence);
  }

  @Test
  void refusal_printsTheServersMessage() {
    assertThat(server.fails(1, "queue", "create", "b", "--lease-timeout", "5ms")).contains("lease");
  }

  @Test
  void group_withoutCommand_printsItsCommands() {
    assertThat(server.fails(2, "queue"))
        .startsWith("Usage: sluice queue [-h] COMMAND\n")
        .contains("  create  ", "  purge  ");
  }
}
