package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.testkit.Await;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults that a server process meets: a full disk, a failed fsync, a damaged journal, SIGHUP, too
 * little heap. This process keeps the list of confirmed messages. The disk is a small file system
 * that the server mounts in a namespace of its own, which needs no privilege.
 */
@Tag("any-jdk")
@Timeout(300)
final class ServeFaultsTest {
  private static final String QUEUE = "{\"name\":\"q\"}";

  @TempDir private Path dir;

  /** Payloads of messages whose enqueue was answered. */
  private final Set<String> confirmed = new HashSet<>();

  private int sent;

  private ServeProcess start(List<String> prefix, String... flags) throws Exception {
    return ServeProcess.start(dir, prefix, List.of(flags), "--data", data().toString());
  }

  private Path data() {
    return dir.resolve("disk").resolve("data");
  }

  /** Enqueues up to {@code count} messages until one is refused; returns the last reply. */
  private ServeProcess.Reply enqueue(ServeProcess server, int count) throws Exception {
    ServeProcess.Reply reply = null;
    for (int i = 0; i < count; i++) {
      String text = "m" + sent++;
      reply = server.enqueue("q", text);
      if (!reply.isDone()) {
        break;
      }
      confirmed.add(text);
    }
    return reply;
  }

  private static void awaitStatus(ServeProcess server, String path, int status) {
    Await.until(path + " to be " + status, () -> server.get(path).status() == status);
  }

  /** Another process, in the namespace of the server, writes until there is no space left. */
  private void takeAllSpace(ServeProcess server) throws Exception {
    Process taker =
        new ProcessBuilder("dd", "if=/dev/zero", "of=" + onDisk(server, "taken"), "bs=4k")
            .redirectErrorStream(true)
            .start();
    String said = new String(taker.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(taker.waitFor()).as(said).isNotZero();
    assertThat(said).contains("No space left on device");
  }

  /** A file on the disk of {@code server}, as this process sees it. */
  private Path onDisk(ServeProcess server, String name) {
    Path inside = dir.resolve("disk").resolve(name);
    return Path.of("/proc/" + server.process().pid() + "/root" + inside);
  }

  @Test
  void diskFilledByAnotherProcess_serviceResumesByItself_andLosesNothing() throws Exception {
    Files.createDirectory(dir.resolve("disk"));
    String mount = "mount -t tmpfs -o size=96m tmpfs disk && exec \"$@\"";
    Files.writeString(dir.resolve("sluice.toml"), "broker.disk_reserve_bytes = 16777216\n");
    try (ServeProcess server = start(List.of("unshare", "-rm", "sh", "-c", mount, "sh"))) {
      assertThat(server.post("/v1/queues", QUEUE).isDone()).isTrue();
      assertThat(enqueue(server, 100).isDone()).isTrue();
      takeAllSpace(server);
      // A message may still fit into a block that the log has.
      assertThat(enqueue(server, 1_000_000).status()).isIn(429, 503);
      // A lease has to be written, so a receive finds the disk full.
      ServeProcess.Reply refused = server.receive("q");
      while (refused.isDone()) {
        refused = server.receive("q");
      }
      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.error()).contains("the disk is full: the broker waits for free space");
      assertThat(server.get("/healthz").status()).isEqualTo(200);
      ServeProcess.Reply notReady = server.get("/readyz");
      assertThat(notReady.status()).isEqualTo(503);
      assertThat(notReady.error()).contains("the disk is full");
      assertThat(enqueue(server, 1).status()).isEqualTo(503);
      assertMetricsTellOfTheFullDisk(server);
      ServeProcess.Reply limit = server.put("/v1/limits/x", "{\"rate_per_second\":1,\"burst\":1}");
      assertThat(limit.status()).isEqualTo(503);
      assertThat(limit.error()).contains("limits could not be stored: No space left on device");
      Files.delete(onDisk(server, "taken"));
      long from = System.nanoTime();
      awaitStatus(server, "/readyz", 200);
      assertThat(enqueue(server, 100).isDone()).isTrue();
      Duration resumedAfter = Duration.ofNanos(System.nanoTime() - from);
      assertThat(resumedAfter).isLessThan(Duration.ofSeconds(10));
      assertThat(server.process().isAlive()).isTrue();
      assertNothingLost(server);
      assertThat(server.text("/metrics")).contains("sluice_broker_available 1.0\n");
    }
  }

  private static void assertMetricsTellOfTheFullDisk(ServeProcess server) throws Exception {
    assertThat(server.text("/metrics"))
        .contains("sluice_broker_available 0.0\n", "sluice_disk_free_bytes ", "jvm_memory_used")
        .contains("sluice_messages_enqueued_total{queue=\"q\"}");
  }

  /** Checks that every confirmed message is stored, leased or not. */
  private void assertNothingLost(ServeProcess server) throws Exception {
    Set<String> stored = new HashSet<>();
    JsonNode messages = server.get("/v1/queues/q/browse?max_messages=1000").body().path("messages");
    messages.forEach(each -> stored.add(each.path("payload").asText()));
    assertThat(stored).containsAll(confirmed);
  }

  /** Only one sync fails: a server that retried it would go on, and might have lost pages. */
  @Test
  void failedFsync_endsTheServer_andNothingIsLostAfterTheRestart() throws Exception {
    Files.createDirectory(dir.resolve("disk"));
    List<String> strace =
        List.of(
            "strace",
            "-f",
            "-qq",
            "-o",
            dir.resolve("strace").toString(),
            "--seccomp-bpf",
            "-e",
            "trace=fsync,fdatasync",
            "-e",
            "inject=fdatasync:error=EIO:when=40");
    try (ServeProcess server = start(strace)) {
      assertThat(server.post("/v1/queues", QUEUE).isDone()).isTrue();
      ServeProcess.Reply refused = enqueue(server, 10_000);
      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.error()).contains("the broker has stopped");
      assertThat(server.exitCode()).isEqualTo(ExitCodes.STORE);
      assertThat(server.log())
          .contains("sluice serve: the server has stopped: the broker has stopped: ");
      try (Stream<String> calls = Files.lines(dir.resolve("strace"))) {
        assertThat(calls.filter(call -> call.contains("(INJECTED)"))).hasSize(1);
      }
    }
    assertThat(confirmed).hasSizeGreaterThan(10);
    try (ServeProcess server = start(List.of())) {
      assertNothingLost(server);
      assertThat(enqueue(server, 1).isDone()).isTrue();
    }
  }

  @Test
  void damagedJournalOfTheGovernor_closesOneModel_andQueuesStart() throws Exception {
    Path governor = data().resolve("governor");
    Files.writeString(
        dir.resolve("budget.json"),
        "{\"models\":{\"a\":{\"target_tpm\":60000},\"b\":{\"target_tpm\":60000}}}");
    Files.writeString(dir.resolve("sluice.toml"), "governor.file = \"budget.json\"\n");
    String tokens = "{\"model\":\"%s\",\"tokens\":100}";
    try (ServeProcess server = start(List.of())) {
      assertThat(server.post("/v1/governor/requests", tokens.formatted("a")).isDone()).isTrue();
      server.process().destroy();
      server.exitCode();
    }
    Path journal;
    try (Stream<Path> files = Files.list(governor)) {
      journal =
          files.filter(each -> each.toString().endsWith(".journal")).sorted().findFirst().get();
    }
    byte[] content = Files.readAllBytes(journal);
    content[9] ^= 1;
    Files.write(journal, content);
    try (ServeProcess server = start(List.of())) {
      assertThat(server.post("/v1/queues", QUEUE).isDone()).isTrue();
      assertThat(enqueue(server, 1).isDone()).isTrue();
      ServeProcess.Reply ready = server.get("/readyz");
      assertThat(ready.status()).isEqualTo(200);
      assertThat(ready.body().toString())
          .contains("\"status\":\"ready\"", "\"degraded\":[\"governor\"]")
          .doesNotContain(journal.getFileName().toString());
      List<ServeProcess.Reply> replies =
          List.of(
              server.post("/v1/governor/requests", tokens.formatted("a")),
              server.post("/v1/governor/requests", tokens.formatted("b")));
      assertThat(replies).extracting(ServeProcess.Reply::status).containsOnlyOnce(503);
      ServeProcess.Reply closed =
          replies.stream().filter(each -> each.status() == 503).findFirst().get();
      assertThat(closed.error())
          .contains(journal.getFileName() + " is damaged at byte 0", ".damaged and reload");
      assertThat(server.log()).contains("a model of the governor is closed; all others work");
      // As the error says.
      Files.move(journal, journal.resolveSibling(journal.getFileName() + ".damaged"));
      new ProcessBuilder("kill", "-HUP", String.valueOf(server.process().pid())).start().waitFor();
      while (server.get("/readyz").body().has("degraded")) {
        TimeUnit.MILLISECONDS.sleep(50);
      }
      awaitLog(server, "reloaded name=\"governor.file\" changed=\"nothing\"");
    }
  }

  @Test
  void sighup_reloadsBudgets_namesSettingsThatNeedARestart_andKeepsTheServerRunning()
      throws Exception {
    Path budget = dir.resolve("budget.json");
    Path settings = dir.resolve("sluice.toml");
    Files.writeString(budget, "{\"models\":{\"a\":{\"target_tpm\":60000}}}");
    Files.writeString(settings, "governor.file = \"budget.json\"\n");
    try (ServeProcess server = start(List.of())) {
      Files.writeString(
          budget, "{\"models\":{\"a\":{\"target_tpm\":50000},\"b\":{\"target_tpm\":60000}}}");
      Files.writeString(
          settings,
          "governor.file = \"budget.json\"\nbroker.hook_threads = 3\nlog.level = \"debug\"\n");
      hangUp(
          server, "reloaded name=\"governor.file\" changed=\"models added: b; models changed: a\"");
      awaitLog(server, "changed settings need a restart settings=\"[broker.hook_threads]\"");
      awaitLog(server, "reloaded name=\"log\" changed=\"log.level=debug, log.format=text\"");
      assertThat(server.get("/v1/governor/status").body().path("buckets").has("b")).isTrue();
      Files.writeString(settings, "governor.file = \"budget.json\"\n");
      hangUp(server, "reloaded name=\"log\" changed=\"log.level=info, log.format=text\"");
      Files.writeString(budget, "{");
      Files.writeString(settings, "nonsense = 1\n");
      hangUp(
          server,
          "reload failed; the previous version stays in use name=\"governor.file\" reason=");
      awaitLog(server, "the new configuration is invalid; the previous one stays in use: ");
      assertThat(server.get("/v1/governor/status").body().path("buckets").has("b")).isTrue();
      assertThat(server.get("/readyz").status()).isEqualTo(200);
    }
  }

  @Test
  void sighup_withoutABudgetFile_isNoError() throws Exception {
    Path settings = Files.writeString(dir.resolve("sluice.toml"), "");
    try (ServeProcess server = start(List.of())) {
      Files.writeString(settings, "log.level = \"debug\"\n");
      hangUp(server, "reloaded name=\"log\" changed=");
      hangUp(server, "nothing to reload: neither governor.file nor tls.cert_file is set");
      assertThat(server.log()).doesNotContain("ERROR", "reload failed");
    }
  }

  private static void hangUp(ServeProcess server, String line) throws Exception {
    new ProcessBuilder("kill", "-HUP", String.valueOf(server.process().pid())).start().waitFor();
    awaitLog(server, line);
  }

  private static void awaitLog(ServeProcess server, String line) {
    Await.until(
        line,
        () -> {
          assertThat(server.process().isAlive()).as(server.log()).isTrue();
          return server.log().contains(line);
        });
  }

  @Test
  void heapThatIsTooSmall_isReportedWithTheRequiredHeap() throws Exception {
    Files.writeString(dir.resolve("sluice.toml"), "");
    try (ServeProcess server = start(List.of(), "-Xmx512m")) {
      assertThat(server.post("/v1/queues", QUEUE).isDone()).isTrue();
      String batch = "{\"payload\":\"m\"},".repeat(999) + "{\"payload\":\"m\"}";
      for (int i = 0; i < 70; i++) {
        assertThat(server.post("/v1/queues/q/messages", "{\"messages\":[" + batch + "]}").isDone())
            .isTrue();
      }
      server.process().destroy();
      server.exitCode();
    }
    Process refused = ServeProcess.launch(dir, List.of("-Xmx24m"), "--data", data().toString());
    assertThat(refused.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(refused.exitValue()).isEqualTo(ExitCodes.HEAP);
    List<String> log = Files.readAllLines(dir.resolve("log"));
    assertThat(log.get(log.size() - 1))
        .startsWith("sluice serve: the server cannot start: the 70000 messages")
        .contains(" need a heap of at least ", "SLUICE_JAVA_FLAGS=-Xmx");
  }

  @Test
  void damagedDataFiles_areReportedAsDamage_notAsConfiguration() throws Exception {
    Files.writeString(dir.resolve("sluice.toml"), "");
    try (ServeProcess server = start(List.of())) {
      assertThat(server.put("/v1/limits/x", "{\"rate_per_second\":1,\"burst\":1}").isDone())
          .isTrue();
    }
    Path limits = data().resolve("limits.json");
    byte[] whole = Files.readAllBytes(limits);
    Files.writeString(limits, "{");
    assertRefused("the file of limits is damaged; restore it, or delete it");
    Files.write(limits, whole);
    Path governor = data().resolve("governor");
    Files.delete(governor.resolve("lock"));
    Files.delete(governor);
    Files.writeString(governor, "no directory");
    assertRefused("the governor cannot use " + governor);
  }

  private void assertRefused(String reason) throws Exception {
    Process refused = ServeProcess.launch(dir, List.of(), "--data", data().toString());
    assertThat(refused.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(refused.exitValue()).isEqualTo(ExitCodes.STORE);
    List<String> log = Files.readAllLines(dir.resolve("log"));
    assertThat(log.get(log.size() - 1))
        .startsWith("sluice serve: the server cannot start: " + reason);
  }

  /** The unit, the page and the process must say the same. */
  @Test
  void systemdUnit_agreesWithTheExitCodes() throws Exception {
    Path root = Path.of("..").toAbsolutePath().normalize();
    String unit = Files.readString(root.resolve("deploy/sluice.service"));
    assertThat(unit.lines())
        .contains(
            "SuccessExitStatus=143 130",
            "RestartPreventExitStatus=" + ExitCodes.HEAP,
            "Restart=on-failure",
            "StartLimitIntervalSec=0",
            "ExecReload=/bin/kill -HUP $MAINPID");
    assertThat(Files.readString(root.resolve("docs/operations.md")))
        .contains(
            "| 143, 130 | ended by SIGTERM or SIGINT; everything is stored | counts as success |");
    // Not SIGINT: a process that a script starts in the background ignores it.
    try (ServeProcess server = start(List.of())) {
      new ProcessBuilder("kill", "-TERM", String.valueOf(server.process().pid())).start().waitFor();
      assertThat(server.exitCode()).isEqualTo(143);
    }
  }
}
