package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.JavaProcess;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("any-jdk")
@Timeout(60)
class GovernorCommandsTest {
  /** Of {@code slow} hardly anything accrues; {@code one} has one request at a time. */
  private static final String BUDGETS =
      """
      {"models": {
         "slow": {"target_tpm": 60, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "one": {"target_tpm": 60000, "burst_tpm": 1000000, "concurrency": 1, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}}},
       "governor": {"ticket_idle_timeout_ms": 300000}}
      """;

  @TempDir Path dir;
  private Path budgets;
  private CliServer server;

  @BeforeEach
  void start() throws Exception {
    budgets = dir.resolve("token-budget.json");
    Files.writeString(budgets, BUDGETS);
    server = started(dir.resolve("data"), budgets);
  }

  /** Starts the server; overridden to keep budgets in another store. */
  CliServer started(Path data, Path file) throws Exception {
    return CliServer.governed(data, file);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private String reservation(String... args) {
    return (String) server.json(args).get(0).get("reservation");
  }

  private Map<String, Object> queued(String... args) {
    Cli cli = server.run(args);
    assertThat(cli.exitCode()).as(cli.err()).isEqualTo(3);
    return cli.json();
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> bucket(String model) {
    Map<String, Object> status = server.json("governor", "status", "--json").get(0);
    assertThat(status).containsOnlyKeys("buckets", "closed", "timestamp");
    return ((Map<String, Map<String, Object>>) status.get("buckets")).get(model);
  }

  @Test
  void status_namesClosedModels_andTheReasons() throws Exception {
    Path data = dir.resolve("damaged");
    Path file = dir.resolve("one-model.json");
    Files.writeString(file, "{\"models\":{\"m\":{\"target_tpm\":60}}}");
    try (CliServer first = CliServer.governed(data, file)) {
      first.ok("governor", "request", "m", "--tokens", "1");
    }
    damageJournals(data.resolve("governor"));
    try (CliServer damaged = CliServer.governed(data, file)) {
      assertThat(damaged.ok("governor", "status"))
          .startsWith("closed: model m is closed: ")
          .contains(" is damaged at byte 0")
          .doesNotContain("no model has a budget");
      assertThat(damaged.json("governor", "status", "--json").get(0).get("closed").toString())
          .startsWith("{m=model m is closed: ");
    }
  }

  private static void damageJournals(Path governor) throws IOException {
    try (DirectoryStream<Path> journals = Files.newDirectoryStream(governor, "*.journal")) {
      for (Path journal : journals) {
        byte[] content = Files.readAllBytes(journal);
        content[9] ^= 1;
        Files.write(journal, content);
      }
    }
  }

  private void awaitWaiting(long count) {
    Await.until(
        count + " waiting",
        () -> bucket("one").get("queueLengths").toString().contains("P2_batch=" + count));
  }

  @Test
  void request_settle_extend() {
    assertThat(
            server.json(
                "governor",
                "request",
                "slow",
                "--tokens",
                "600",
                "--expected-tokens",
                "500",
                "--json"))
        .singleElement()
        .satisfies(
            granted ->
                assertThat(granted)
                    .containsEntry("granted", true)
                    // Nothing is known yet of what is used of it.
                    .containsEntry("tokens", 600L)
                    .containsEntry("requestedTokens", 600L)
                    .containsEntry("remaining", 400L)
                    .containsEntry("model", "slow")
                    .containsEntry("priority", "P2_batch")
                    .containsKey("reservation"));
    List<String> lines =
        server.ok("governor", "request", "slow", "--tokens", "100").lines().toList();
    assertThat(lines).hasSize(2);
    assertThat(lines.get(0)).matches("granted {6}100 tokens of slow, 3\\d\\d left");
    assertThat(lines.get(1)).startsWith("reservation  ");
    String id = lines.get(1).substring("reservation  ".length());
    assertThat(server.ok("governor", "extend", id)).isEqualTo("extended " + id + "\n");
    assertThat(server.ok("governor", "settle", id, "130"))
        .isEqualTo("settled: 130 of 100 tokens used, 0 refunded, 30 overused\n");
    assertThat(server.fails(1, "governor", "settle", id, "130")).contains(id);
    assertThat(server.fails(1, "governor", "extend", id)).contains(id);
    String other = reservation("governor", "request", "one", "--tokens", "5", "--json");
    assertThat(server.json("governor", "extend", other, "--json"))
        .containsExactly(Map.of("reservation", other, "extended", true));
    assertThat(server.json("governor", "settle", other, "0", "--json").get(0))
        .containsEntry("model", "one")
        .containsEntry("tenant", "")
        .containsEntry("requestedTokens", 5L)
        .containsEntry("reservedTokens", 5L)
        .containsEntry("actualTokens", 0L)
        .containsEntry("overusedTokens", 0L)
        .containsEntry("excessTokens", 0L)
        .containsKey("refundedTokens");
  }

  @Test
  void request_waiting_exitsWith3AndHasATicket() {
    server.ok("governor", "request", "one", "--tokens", "5", "--tenant", "acme");
    String[] again = {
      "governor",
      "request",
      "one",
      "--tokens",
      "7",
      "--idempotency-key",
      "k",
      "--priority-class",
      "P0_clinical",
      "--json"
    };
    Map<String, Object> queued = queued(again);
    assertThat(queued)
        .containsEntry("granted", false)
        .containsEntry("tokens", 7L)
        .containsEntry("queuePosition", 1L)
        .containsEntry("binding", "CONCURRENCY")
        .containsEntry("priority", "P0_clinical")
        .containsKeys("remaining", "ticket", "model")
        .doesNotContainKeys("waitMs", "etaMs");
    String ticket = (String) queued.get("ticket");
    assertThat(queued(again)).containsEntry("ticket", ticket);
    Cli shown = server.run("governor", "ticket", ticket);
    assertThat(shown.exitCode()).isEqualTo(3);
    assertThat(shown.out())
        .matches("waiting for one: position 1, unknown: concurrency\nticket .*\n.*\n")
        .contains("\nticket " + ticket + "\n")
        .endsWith("for ticket_idle_timeout_ms, 30s by default\n");
    assertThat(server.ok("governor", "cancel", ticket)).isEqualTo("canceled " + ticket + "\n");
    assertThat(server.fails(1, "governor", "ticket", ticket)).contains(ticket);
    assertThat(server.fails(1, "governor", "ticket", ticket, "--wait")).contains(ticket);
    assertThat(server.fails(1, "governor", "cancel", ticket)).contains(ticket);
  }

  @Test
  void request_refused_exitsWith3() {
    Map<String, Object> refused =
        queued("governor", "request", "slow", "--tokens", "1001", "--json");
    assertThat(refused)
        .containsEntry("granted", false)
        .containsEntry("reason", "IMPOSSIBLE")
        .containsEntry("remaining", 1_000L);
    Cli text = server.run("governor", "request", "slow", "--tokens", "1001", "--wait");
    assertThat(text.exitCode()).isEqualTo(3);
    assertThat(text.out()).startsWith("impossible: ").contains("1001");
    server.ok("governor", "request", "one", "--tokens", "1");
    Map<String, Object> late =
        queued(
            "governor",
            "request",
            "one",
            "--tokens",
            "1",
            "--wait",
            "--max-wait",
            "10ms",
            "--json");
    assertThat(late).containsEntry("reason", "TIMEOUT");
  }

  @Test
  void request_waiting_showsItsPositionAndIsGrantedInItsTurn() throws Exception {
    String first = reservation("governor", "request", "one", "--tokens", "5", "--json");
    CompletableFuture<Cli> waiting =
        CompletableFuture.supplyAsync(
            () ->
                server.run(
                    new Cli.Setting().answer(""),
                    "governor",
                    "request",
                    "one",
                    "--tokens",
                    "6",
                    "--wait",
                    "--json"));
    awaitWaiting(1);
    server.ok("governor", "settle", first, "5");
    Cli granted = waiting.get(30, TimeUnit.SECONDS);
    assertThat(granted.exitCode()).isZero();
    assertThat(granted.json()).containsEntry("granted", true).containsEntry("tokens", 6L);
    assertThat(granted.err())
        .startsWith("\rwaiting for one: position 1, unknown: concurrency")
        .endsWith(" \r");
    String second = (String) granted.json().get("reservation");

    String ticket =
        (String) queued("governor", "request", "one", "--tokens", "7", "--json").get("ticket");
    CompletableFuture<Cli> byTicket =
        CompletableFuture.supplyAsync(() -> server.run("governor", "ticket", ticket, "--wait"));
    server.ok("governor", "settle", second, "0");
    Cli last = byTicket.get(30, TimeUnit.SECONDS);
    assertThat(last.exitCode()).isZero();
    assertThat(last.out()).startsWith("granted      7 tokens of one");
    assertThat(last.err()).isEmpty();
  }

  @Test
  void explain_takesNothing() {
    assertThat(server.ok("governor", "explain", "slow", "--tokens", "600").lines().skip(1))
        .element(0)
        .asString()
        .matches("DIMENSION +AVAILABLE +NEEDED +CAPACITY +WAIT");
    server.ok("governor", "request", "slow", "--tokens", "600");
    Cli later = server.run("governor", "explain", "slow", "--tokens", "600");
    assertThat(later.exitCode()).isEqualTo(3);
    assertThat(later.outLines()).anyMatch(line -> line.matches("tokens +4\\d\\d +600 +1000 +.*s"));
    assertThat(later.out()).containsPattern("\nposition 1, about .*s, bound by tokens\n");
    Map<String, Object> json = queued("governor", "explain", "slow", "--tokens", "600", "--json");
    assertThat(json)
        .containsOnlyKeys(
            "model",
            "priority",
            "tokens",
            "outcome",
            "binding",
            "queuePosition",
            "waitMs",
            "etaMs",
            "message",
            "dimensions")
        .containsEntry("outcome", "QUEUED")
        .containsEntry("binding", "TOKENS")
        .containsEntry("queuePosition", 1L);
    assertThat(bucket("slow").get("metrics").toString()).contains("totalRequests=1,");
    Cli never = server.run("governor", "explain", "slow", "--tokens", "1001");
    assertThat(never.outLines()).anyMatch(line -> line.matches("tokens +\\d+ +1001 +1000 +never"));
    server.ok("governor", "request", "one", "--tokens", "1");
    Cli unknown = server.run("governor", "explain", "one", "--tokens", "1");
    assertThat(unknown.out()).contains("\nposition 1, unknown: concurrency\n");
    assertThat(unknown.outLines()).anyMatch(line -> line.matches("concurrency +0 +1 +1 +unknown"));
  }

  @Test
  void status_isATableAndTheSeedsJson() {
    server.ok("governor", "request", "slow", "--tokens", "1000");
    List<String> lines = server.ok("governor", "status").lines().toList();
    assertThat(lines.get(0))
        .matches(
            "MODEL +AVAILABLE +CAPACITY +USED % +TOKENS/MIN +RUNNING +WAITING +REQUESTS +AT ONCE");
    assertThat(lines.get(1)).matches("slow +\\d+ +1000 +\\d+\\.\\d\\d +60 +1 +0 +1 +1");
    assertThat(lines.get(2)).matches("one +1000000 +1000000 +0\\.00 +60000 +0 +0 +0 +0");
    assertThat(bucket("slow"))
        .containsOnlyKeys(
            "capacity",
            "available",
            "utilizationPct",
            "targetTPM",
            "burstTPM",
            "refillRate",
            "lastRefill",
            "queueLengths",
            "running",
            "metrics",
            "audit",
            "provider",
            "alerts")
        .containsEntry("burstTPM", 1_000L)
        .containsEntry("targetTPM", 60L)
        .containsEntry("refillRate", 1.0)
        .containsEntry("queueLengths", Map.of("P0_clinical", 0L, "P1_user", 0L, "P2_batch", 0L));
  }

  @Test
  void feedback_delaysTheModel() {
    assertThat(
            server.ok(
                "governor", "feedback", "slow", "--status", "429", "--header", "retry-after=60"))
        .isEqualTo("reported for slow\n");
    assertThat(queued("governor", "request", "slow", "--tokens", "1", "--json"))
        .containsEntry("binding", "PROVIDER");
    assertThat(server.json("governor", "feedback", "one", "--status", "200", "--json"))
        .containsExactly(Map.of("model", "one", "reported", true));
    assertThat(server.fails(1, "governor", "feedback", "nobody", "--status", "429"))
        .contains("nobody");
  }

  @Test
  void reload_namesIgnoredKeys() throws Exception {
    assertThat(server.ok("governor", "reload")).isEqualTo("reloaded\n");
    Files.writeString(
        budgets, "{\"models\":{\"slow\":{\"target_tpm\":60,\"burst_tpm\":500,\"retry_max\":5}}}");
    assertThat(server.json("governor", "reload", "--json"))
        .containsExactly(Map.of("ignoredKeys", List.of("models.slow.retry_max")));
    assertThat(server.ok("governor", "reload"))
        .isEqualTo("reloaded\nignored: models.slow.retry_max\n");
    Files.writeString(budgets, "{\"models\":{\"slow\":{\"target_tpm\":0}}}");
    assertThat(server.fails(1, "governor", "reload")).contains("target_tpm");
  }

  @Test
  void badInput_isWrongUsage() {
    assertThat(server.fails(2, "governor", "request", "slow")).contains("--tokens");
    assertThat(server.fails(2, "governor", "request", "--tokens", "1")).contains("MODEL");
    assertThat(server.fails(2, "governor", "request", "slow", "--tokens", "0"))
        .contains("tokens must be positive, but was 0");
    assertThat(server.fails(2, "governor", "request", "slow", "--tokens", "many"))
        .contains("it must be a whole number of at most 18 digits, but was 'many'");
    assertThat(server.fails(2, "governor", "request", "slow", "--tokens", "1", "--max-wait", "0s"))
        .contains("maxWait in milliseconds must be positive, but was 0");
    assertThat(
            server.fails(
                2, "governor", "request", "slow", "--tokens", "1", "--idempotency-key", ""))
        .contains("--idempotency-key must not be empty");
    assertThat(server.fails(2, "governor", "settle", "r")).contains("TOKENS");
    assertThat(server.fails(2, "governor", "feedback", "slow")).contains("--status");
    assertThat(
            server.fails(
                1, "governor", "request", "slow", "--tokens", "1", "--priority-class", "P9"))
        .contains("P9");
    assertThat(server.fails(1, "governor", "request", "nobody", "--tokens", "1"))
        .contains("nobody");
    assertThat(Cli.run("governor").exitCode()).isEqualTo(2);
  }

  @Test
  void request_terminated_leavesTheWaitingListAtOnce() throws Exception {
    server.ok("governor", "request", "one", "--tokens", "5");
    List<String> command =
        JavaProcess.command(
            List.of(),
            Sluice.class,
            List.of("governor", "request", "one", "--tokens", "5", "--wait"));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(server.environment());
    Process waiting = builder.start();
    try {
      awaitWaiting(1);
      // Unlike that of the process itself this leaves its output open.
      waiting.toHandle().destroy();
      assertThat(waiting.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(waiting.errorReader().lines()).isEmpty();
      // Much sooner than by the idle timeout of five minutes.
      awaitWaiting(0);
    } finally {
      waiting.destroyForcibly();
    }
  }
}
