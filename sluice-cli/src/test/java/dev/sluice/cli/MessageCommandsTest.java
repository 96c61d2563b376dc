package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.ConnectionOptions;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.client.Delivery;
import dev.sluice.client.SluiceClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("any-jdk")
@Timeout(60)
final class MessageCommandsTest {
  @TempDir static Path dir;
  private static CliServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new CliServer(dir.resolve("data"), null);
    server.ok("queue", "create", "q", "--max-attempts", "1");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static void empty() {
    server.ok("queue", "purge", "q", "--yes");
    server.ok("queue", "purge", "q.dlq", "--yes");
  }

  @Test
  void send_everyOption_arrives() {
    empty();
    server.ok("throttle", "set", "provider:a", "--rate", "100");
    List<Map<String, Object>> sent =
        server.json(
            ("message send q hello --header a=b --header c=d=e --fairness-key tenant --weight 2"
                    + " --priority 3 --throttle-key provider:a=2 --ttl 1h --dedupe-id once --json")
                .split(" "));
    String id = (String) ((List<?>) sent.get(0).get("ids")).get(0);
    Map<String, Object> message =
        server.json("message", "receive", "q", "--wait", "20s", "--json").get(0);
    assertThat(message)
        .containsEntry("id", id)
        .containsEntry("payload", "hello")
        .containsEntry("headers", Map.of("a", "b", "c", "d=e"))
        .containsEntry("fairness_key", "tenant")
        .containsEntry("weight", 2L)
        .containsEntry("throttle_keys", List.of("provider:a"))
        .containsEntry("attempts", 0L)
        .containsKeys("lease_token", "enqueued_at_ms", "lease_ends_at_ms");
    server.ok("message", "ack", "q", id, (String) message.get("lease_token"));
  }

  @Test
  void send_delayed_isNotReceivedYet() {
    empty();
    server.ok("message", "send", "q", "later", "--delay", "1h");
    assertThat(server.ok("message", "receive", "q", "--wait", "0s")).isEmpty();
    assertThat(server.ok("queue", "stats", "q")).contains("delayed                1\n");
  }

  @Test
  void send_fromFileAndInput_receiveWithAck() throws Exception {
    empty();
    Path file = Files.write(dir.resolve("binary"), new byte[] {(byte) 0xff, 0});
    server.ok("message", "send", "q", "--file", file.toString());
    Cli piped = server.run(new Cli.Setting().input("two\nlines\n"), "message", "send", "q");
    assertThat(piped.exitCode()).isZero();
    assertThat(server.json("message", "browse", "q", "--json").get(0))
        .containsEntry("payload_base64", "/wA=")
        .containsKey("available_at_ms");
    assertThat(server.ok("message", "receive", "q", "--count", "2", "--wait", "20s", "--ack"))
        .isEqualTo("base64:/wA=\ntwo\nlines\n\n");
    assertThat(server.ok("queue", "stats", "q")).contains("depth                  0\n");
  }

  @Test
  void send_lines_withProgressOnATerminal() throws Exception {
    empty();
    String lines =
        IntStream.range(0, 2_500).mapToObj(i -> "line " + i).collect(Collectors.joining("\n"));
    Cli piped =
        server.run(new Cli.Setting().input(lines), "message", "send", "q", "--lines", "--json");
    assertThat(piped.json()).isEqualTo(Map.of("sent", 2_500L));
    assertThat(piped.err()).isEmpty();
    Path file = Files.writeString(dir.resolve("lines"), lines);
    Cli watched =
        server.run(
            new Cli.Setting().answer(""),
            "message",
            "send",
            "q",
            "--lines",
            "--file",
            file.toString());
    assertThat(watched.out()).isEqualTo("sent 2500\n");
    assertThat(watched.err()).contains("[##############################] 100%").endsWith(" \r");
    List<String> received =
        server.ok("message", "receive", "q", "--count", "5000", "--ack").lines().toList();
    assertThat(received).hasSize(5_000).startsWith("line 0", "line 1").endsWith("line 2499");
  }

  @Test
  void send_lines_refused_reportsTheStoredCount() {
    Cli cli = server.run(new Cli.Setting().input("a\nb\n"), "message", "send", "none", "--lines");
    assertThat(cli.exitCode()).isEqualTo(1);
    assertThat(cli.err()).startsWith("0 messages were stored").contains("queue=none");
  }

  @Test
  void receive_holds_untilSettled() {
    empty();
    server.ok("message", "send", "q", "work");
    String[] line = server.ok("message", "receive", "q").strip().split(" {2}");
    assertThat(line).hasSize(3).endsWith("work");
    assertThat(server.ok("message", "receive", "q", "--wait", "0s")).isEmpty();
    assertThat(server.json("message", "extend", "q", line[0], line[1], "--for", "5m", "--json"))
        .containsExactly(Map.of("id", line[0], "extended", true));
    assertThat(server.ok("message", "nack", "q", line[0], line[1], "--error", "broken"))
        .isEqualTo("nacked " + line[0] + "\n");
    assertThat(server.fails(1, "message", "ack", "q", line[0], line[1])).contains(line[0]);
    Map<String, Object> dead = server.json("message", "browse", "q.dlq", "--json").get(0);
    assertThat((Map<?, ?>) dead.get("dead_letter"))
        .isEqualTo(
            Map.of(
                "queue", "q",
                "id", line[0],
                "reason", "MAX_ATTEMPTS",
                "attempts", 1L,
                "error", "broken"));
    assertThat(server.ok("redrive", "q.dlq")).isEqualTo("moved 1\n");
    assertThat(server.ok("message", "receive", "q", "--ack")).isEqualTo("work\n");
  }

  @Test
  void redrive_many_inBatchesWithProgress() {
    empty();
    String lines = "x\n".repeat(1_200);
    server.run(new Cli.Setting().input(lines), "message", "send", "q", "--lines");
    try (SluiceClient client = new ConnectionOptions().connect(server.environment())) {
      for (int failed = 0; failed < 1_200; ) {
        List<Delivery> batch = client.receive("q", 1_000, Duration.ofSeconds(20));
        batch.stream().map(each -> each.nack("no")).toList().forEach(ServerCommand::await);
        failed += batch.size();
      }
    }
    assertThat(server.json("redrive", "q.dlq", "--count", "10", "--json"))
        .containsExactly(Map.of("redriven", 10L));
    Cli watched = server.run(new Cli.Setting().answer(""), "redrive", "q.dlq");
    assertThat(watched.out()).isEqualTo("moved 1190\n");
    assertThat(watched.err()).contains("[............", "  42%  500", "  84%  1000");
    assertThat(server.ok("redrive", "q.dlq")).isEqualTo("moved 0\n");
    assertThat(server.fails(1, "redrive", "q")).contains("no dead letters: queue=q");
  }

  @Test
  void receive_follow_endsAfterCount() {
    empty();
    server.run(new Cli.Setting().input("1\n2\n3\n4\n"), "message", "send", "q", "--lines");
    assertThat(server.ok("message", "receive", "q", "--follow", "--ack", "--count", "3"))
        .isEqualTo("1\n2\n3\n");
    assertThat(server.ok("message", "receive", "q", "--wait", "20s", "--ack")).isEqualTo("4\n");
    assertThat(server.fails(1, "message", "receive", "none", "--follow", "--ack"))
        .contains("queue=none");
  }

  @Test
  void payload_onATerminal_hasNoControlCharacters() {
    empty();
    server.ok("message", "send", "q", "a\u001b[2Jb");
    Cli cli = server.run(new Cli.Setting().terminal(), "message", "receive", "q", "--ack");
    assertThat(cli.out()).isEqualTo("a?[2Jb\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          send q x --file y             | PAYLOAD cannot be combined with --file or --lines
          send q x --throttle-key a=0       | the name must not be empty and TOKENS must be positive, but was 'a=0'
          send q x --throttle-key a=b       | TOKENS must be a whole number of at most 18 digits, but was 'b'
          send q x --weight 0           | weight must be positive, but was 0
          send q x --header a           | KEY=VALUE
          send q --lines --dedupe-id i  | --dedupe-id cannot be combined with --lines: each message needs its own
          send q --file /none           | cannot read '/none': no such file
          receive q --count 0           | --count must be positive, but was 0
          receive q --follow            | --follow requires --ack
          browse q --count 0              | --count must be positive, but was 0
          ack q                         | Missing required parameter: 'ID'
          """)
  void badInput_isWrongUsage(String args, String sentence) {
    assertThat(server.fails(2, ("message " + args).split(" "))).contains(sentence);
  }

  @Test
  void send_withoutPayload_onATerminal_isRefused() {
    Cli cli = server.run(new Cli.Setting().answer(""), "message", "send", "q");
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.err()).contains("a payload is required");
  }
}
