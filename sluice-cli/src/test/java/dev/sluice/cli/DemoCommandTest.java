package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.NanoClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DemoCommandTest {
  private static final String LINE = "[ 0-9]{3}\\.[0-9]s  [0-9]{2}/s .*";

  @Test
  void demo_showsTheLimitChangeAndTheCheck() {
    Cli cli = Cli.run("demo");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.err()).isEmpty();
    assertThat(cli.out())
        .startsWith(
            "One bucket of 20 tokens, refilled with 20 a second, and three callers for 10 s:")
        .contains("polite  greedy  patient  denied  waits  retry in\n")
        .contains("\n  5.0s  20/s ", "the rate is now 40/s", "\n  5.5s  40/s ")
        .contains("\nCheck: legal at most 320 (capacity + rate x time), granted ")
        .endsWith(": the limit held.\n")
        .doesNotContain("\r", "\u001b");
    assertThat(cli.outLines().stream().filter(line -> line.matches(LINE))).hasSize(20);
  }

  @Test
  void demo_callersGetWhatIsThere() {
    List<String> lines = Cli.run("demo", "--seconds", "2").outLines();
    String header = lines.get(7);
    assertThat(header).startsWith("  time  rate  tokens");
    // The burst and half a second of refill; the greedy caller takes what the others leave.
    assertThat(lines.get(8)).startsWith("  0.5s  20/s  [..........]  0").hasSameSizeAs(header);
    assertThat(lines.get(9)).startsWith("  1.0s  20/s  [").endsWith("-");
  }

  @Test
  void demo_isTheSameEveryTimeInSimulatedTime() {
    assertThat(Cli.run("demo", "--seconds", "3")).isEqualTo(Cli.run("demo", "--seconds", "3"));
  }

  @Test
  void demo_onTerminal_rewritesTheLine() {
    Cli plain = Cli.run("demo", "--seconds", "1");
    Cli cli = Cli.run(new Cli.Setting().terminal(), "demo", "--seconds", "1");
    assertThat(cli.out()).contains("  0.1s  20/s ", "\r  0.2s  20/s ").doesNotContain("\u001b");
    assertThat(cli.out().replaceAll("(?m)^.*\r", "")).isEqualTo(plain.out());
  }

  @Test
  void demo_stopped_printsTheSummary() {
    Cli cli =
        Cli.run(new Cli.Setting().pacer(() -> new ManualPacer(Duration.ofMillis(1250))), "demo");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out())
        .contains("\n  1.0s  20/s ")
        .doesNotContain("\n  1.5s  ", "40/s")
        .contains("\n1.3 s: polite ", "\nCheck: legal at most 45 ")
        .endsWith(": the limit held.\n");
  }

  @Test
  void demo_json() {
    Cli cli = Cli.run("demo", "--json", "--seconds", "4");
    assertThat(cli.exitCode()).isZero();
    List<Map<String, Object>> objects =
        cli.outLines().stream().map(JsonReader::readObject).toList();
    assertThat(objects)
        .extracting(object -> object.get("event"))
        .containsExactly("second", "second", "second", "second", "end");
    assertThat(objects)
        .extracting(object -> object.get("tokensPerSecond"))
        .containsExactly(20L, 20L, 40L, 40L, 40L);
    assertThat(objects)
        .extracting(object -> object.get("legalAtMost"))
        .containsExactly(40L, 60L, 100L, 140L, 140L);
    assertThat(objects).allMatch(o -> (long) o.get("granted") <= (long) o.get("legalAtMost"));
    assertThat(objects.get(4)).containsEntry("withinLimit", true);
    assertThat(objects.get(0))
        .containsKeys("elapsedNanos", "level", "waiting", "polite", "greedy", "patient")
        .containsKey("retryAfterNanos");
  }

  /** Its clock runs ahead for the callers, so that they get more than the time is worth. */
  private static final class LyingPacer extends ManualPacer {
    private long steps;
    private long aheadNanos;

    @Override
    public NanoClock clock() {
      NanoClock honest = super.clock();
      return () -> honest.nanoTime() + aheadNanos;
    }

    @Override
    void act() {
      aheadNanos = ++steps * Duration.ofHours(1).toNanos();
      super.act();
      aheadNanos = 0;
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void demo_limitBroken_fails(boolean json) {
    String[] arguments = json ? new String[] {"demo", "--json"} : new String[] {"demo"};
    Cli cli = Cli.run(new Cli.Setting().pacer(LyingPacer::new), arguments);
    assertThat(cli.exitCode()).isEqualTo(1);
    assertThat(cli.out()).endsWith(json ? "\"withinLimit\":false}\n" : ": THE LIMIT WAS BROKEN.\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "3601", "999999999999999999"})
  void seconds_outOfRange(String seconds) {
    Cli cli = Cli.run("demo", "--seconds", seconds);
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.err())
        .isEqualTo("sluice demo: --seconds must be from 1 to 3600: " + seconds + "\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "-1", "1.5", ""})
  void seconds_malformed(String seconds) {
    Cli cli = Cli.run("demo", "--seconds", seconds);
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.err())
        .startsWith(
            "sluice demo: Invalid value for option '--seconds':"
                + " it must be a whole number of at most 18 digits: '"
                + seconds
                + "'\n");
  }

  /** A process of its own, in real time, that is told to end as by Ctrl-C. */
  @Test
  void demo_terminated_printsTheSummary() throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Sluice.class.getName(),
                "demo")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out = process.inputReader()) {
      String line = out.readLine();
      while (!line.matches(LINE)) {
        line = out.readLine();
      }
      // Not the process's own: that one closes the output as well.
      process.toHandle().destroy();
      assertThat(out.lines().reduce((first, second) -> second))
          .hasValueSatisfying(last -> assertThat(last).endsWith(": the limit held."));
    }
    assertThat(process.waitFor()).isNotEqualTo(1);
  }
}
