package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.commands.TopSample;
import dev.sluice.cli.commands.TopView;
import dev.sluice.cli.runtime.AlternateScreen;
import dev.sluice.client.QueueSummary;
import dev.sluice.client.QueueTotals;
import dev.sluice.client.ThrottleRate;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class TopCommandTest {
  private static final long SECOND = 1_000_000_000;

  private static final QueueTotals NOTHING = new QueueTotals(0, 0, 0, 0, 0);

  private static TopSample sample(long nanos, long mail) {
    return TopSample.of(
        nanos,
        List.of(
            new QueueSummary("calls", 5, 1, 2, NOTHING),
            new QueueSummary("mail", mail, 0, 0, new QueueTotals(mail, 2 * mail, 10, 0, 0)),
            new QueueSummary("also-five", 5, 0, 1, NOTHING)),
        List.of(
            new ThrottleRate("provider:b", 0.5, 1, 0.25),
            new ThrottleRate("full", 5, 10, 10),
            new ThrottleRate("provider:a", 5, 10, -2)));
  }

  @Test
  void lines_deepestFirst_withRatesAndThrottledKeys() {
    assertThat(TopView.lines("host:1", sample(0, 100), sample(2 * SECOND, 103), 80, 24))
        .containsExactly(
            "sluice host:1: 3 queues, 113 messages, 1 in flight",
            "QUEUE              DEPTH  IN FLIGHT  CONSUMERS       IN/S      OUT/S    ACKED/S",
            "mail                 103          0          0        1.5        3.0        0.0",
            "also-five              5          0          1        0.0        0.0        0.0",
            "calls                  5          1          2        0.0        0.0        0.0",
            "",
            "THROTTLED KEY     RATE/S      BURST",
            "provider:a             5         10",
            "provider:b           0.5          1");
  }

  @Test
  void lines_afterARestart_haveNoNegativeRates() {
    assertThat(TopView.lines("host:1", sample(0, 100), sample(SECOND, 50), 80, 24))
        .contains("mail                  50          0          0          -          -          -")
        .noneMatch(line -> line.contains("-50"));
  }

  @Test
  void lines_firstSample_hasNoRates() {
    TopSample only = TopSample.of(0, List.of(new QueueSummary("q", 1, 2, 3, NOTHING)), List.of());
    assertThat(TopView.lines("host:1", null, only, 80, 24))
        .containsExactly(
            "sluice host:1: 1 queues, 1 messages, 2 in flight",
            "QUEUE         DEPTH  IN FLIGHT  CONSUMERS       IN/S      OUT/S    ACKED/S",
            "q                 1          2          3          -          -          -");
  }

  @Test
  void lines_fitTheTerminal() {
    TopSample wide =
        TopSample.of(0, List.of(new QueueSummary("x".repeat(100), 1, 0, 0, NOTHING)), List.of());
    List<String> lines = TopView.lines("host:1", null, wide, 80, 24);
    assertThat(lines).allMatch(line -> line.length() <= 80);
    assertThat(lines.get(2)).startsWith("x".repeat(11) + "...");
    assertThat(TopView.lines("host:1", null, wide, 30, 24)).allMatch(line -> line.length() <= 30);
    assertThat(TopView.lines("host:1", null, sample(0, 9), 80, 6))
        .hasSize(6)
        .element(5)
        .asString()
        .startsWith("provider:a");
  }

  @Test
  void size_isReadFromStty() {
    assertThat(AlternateScreen.parse("50 132")).isEqualTo(new AlternateScreen.Size(132, 50));
    assertThat(AlternateScreen.parse("0 0")).isEqualTo(new AlternateScreen.Size(80, 24));
    assertThat(AlternateScreen.parse("what")).isEqualTo(new AlternateScreen.Size(80, 24));
  }

  @Test
  void top_againstAServer(@TempDir Path dir) throws Exception {
    try (CliServer server = new CliServer(dir, null)) {
      server.ok("queue", "create", "mail");
      server.ok("message", "send", "mail", "x");
      assertThat(server.ok("top", "--once").lines())
          .startsWith("sluice " + server.address() + ": 2 queues, 1 messages, 0 in flight")
          .hasSize(4);
      assertThat(server.ok("top")).isEqualTo(server.ok("top", "--once"));
      List<Map<String, Object>> samples = server.json("top", "--json", "--count", "2");
      assertThat(samples).hasSize(2);
      assertThat((List<?>) samples.get(1).get("queues"))
          .first()
          .isEqualTo(
              Map.of(
                  "name",
                  "mail",
                  "depth",
                  1L,
                  "in_flight",
                  0L,
                  "consumers",
                  0L,
                  "totals",
                  Map.of(
                      "enqueued", 1L,
                      "delivered", 0L,
                      "acked", 0L,
                      "failed", 0L,
                      "dead_lettered", 0L),
                  "enqueued_per_second",
                  0.0,
                  "delivered_per_second",
                  0.0,
                  "acked_per_second",
                  0.0));
      assertThat(server.fails(2, "top", "--count", "0"))
          .contains("--count must be positive, but was 0");
      live(server);
    }
  }

  private static void live(CliServer server) {
    Cli.Setting terminal = new Cli.Setting().terminal();
    String live = server.run(terminal, "top", "--count", "3").out();
    assertThat(live).startsWith("\u001b[?1049h\u001b[?25l").endsWith("\u001b[?25h\u001b[?1049l");
    assertThat(live.split("\u001b\\[H", -1)).hasSize(4);
    Cli.Setting stopped =
        new Cli.Setting().terminal().timer(() -> new ManualCommandTimer(Duration.ofMillis(1_500)));
    assertThat(server.run(stopped, "top").out().split("\u001b\\[H", -1)).hasSize(3);
    Cli.Setting quitting = new Cli.Setting().terminal().input("xq");
    assertThat(server.run(quitting, "top").out())
        .endsWith("\u001b[?25h\u001b[?1049l")
        .contains("\u001b[Hsluice " + server.address());
  }
}
