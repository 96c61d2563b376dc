package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The examples run, for a part of their time, and their pages need nothing but themselves. */
class SimulateExamplesTest {
  private static final Path EXAMPLES = Path.of("../examples/simulate");

  static Stream<Path> examples() throws IOException {
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      List<Path> found = files.sorted().toList();
      assertThat(found).hasSize(3);
      return found.stream();
    }
  }

  @ParameterizedTest
  @MethodSource("examples")
  void example_runs(Path example, @TempDir Path folder) throws IOException {
    Path page = folder.resolve("page.html");
    Cli cli =
        Cli.run(
            "simulate",
            example.toString(),
            "--set",
            "duration=130m",
            "--report",
            page.toString(),
            "--json");
    assertThat(cli.err()).isEmpty();
    assertThat(cli.exitCode()).isZero();
    Map<String, Object> json = cli.json();
    assertThat(json)
        .containsEntry("duration_ms", 7_800_000L)
        .containsEntry("report", page.toString());
    assertKept((List<?>) json.get("throttles"), "worst_window", "legal_window");
    assertKept((List<?>) json.get("models"), "worst_minute", "legal_minute");
    assertThat(Files.readString(page))
        .startsWith("<!doctype html>")
        .endsWith("</html>\n")
        .contains("default-src 'none'", "<canvas role=\"img\"", "prefers-color-scheme: dark")
        .contains("Changed on the command line", "duration=130m", "<details><summary>Figures")
        .doesNotContain("src=\"", "href=\"", "sourceMappingURL", "@import", ">NaN<", "Infinity<");
  }

  private static void assertKept(List<?> limits, String worst, String legal) {
    for (Object each : limits) {
      Map<?, ?> limit = (Map<?, ?>) each;
      assertThat(((Number) limit.get(worst)).doubleValue())
          .isLessThanOrEqualTo(((Number) limit.get(legal)).doubleValue());
    }
  }

  @Test
  void names_areEscaped_inPageAndOutput(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("odd.toml");
    Path page = folder.resolve("page.html");
    Files.writeString(
        file,
        """
        title = "</title><script>alert(1)</script>\\u001b[31m"
        duration = "1m"
        queues.'<b>"q"'.tenants."<i>&".arrivals = { pattern = "steady", rate = 1 }
        """);
    Cli cli = Cli.run("simulate", file.toString(), "--report", page.toString());
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).doesNotContain("\u001b").contains("report: " + page);
    assertThat(Files.readString(page))
        .doesNotContain("<script>alert", "<b>", "<i>", "\u001b")
        .contains("&lt;i&gt;&amp;", "&lt;b&gt;&quot;q&quot;");
  }

  @Test
  void text_isATable(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("one.toml");
    Files.writeString(
        file,
        """
        title = "One"
        duration = "10s"
        throttles.p = { rate = 1, burst = 2 }
        queues.q.workers = 2
        queues.q.service = "500ms"
        queues.q.tenants.a = { throttles = ["p"], arrivals = { pattern = "trace", at = ["0s", "0s", "0s"] } }
        queues.q.tenants.b = { throttles = ["p"], arrivals = { pattern = "trace", at = ["1s"] } }
        """);
    Cli cli = Cli.run("simulate", file.toString(), "--no-report");
    assertThat(cli.out())
        .isEqualTo(
            """
            One: 10s simulated, seed 1

            - p: at most 3 of 3 tokens in any 1s; 40.0 % of its rate was used

            Queue q: 2 workers, 10.0 % busy
            tenant  weight  arrived  served   share     due  wait p50     p99  longest  FIFO p50  FIFO p99
            a            1        3       3  75.0 %  75.0 %       0 s  1.00 s   1.00 s       0 s    1.00 s
            b            1        1       1  25.0 %  25.0 %    1.00 s  1.00 s   1.00 s    1.00 s    1.00 s

            Throttles
            throttle  rate/s  burst  keys  taken    used  worst window
            p              1      2     1      4  40.0 %  3 of 3 in 1s
            """);
  }
}
