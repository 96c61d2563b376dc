package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.sluice.cli.text.Quoting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** An invalid scenario is reported in one sentence, with file, key and value. */
class ScenarioErrorsTest {
  static final String SCENARIO =
      """
      duration = "1m"
      throttles.provider = { rate = 5, burst = 5 }
      queues.q.tenants.a = { throttles = ["provider"], arrivals = { pattern = "steady", rate = 1 } }
      models.m = { target_tpm = 1000 }
      callers.c = { model = "m", tokens = 10, arrivals = { pattern = "poisson", rate = 1 } }
      """;

  private static final String A = "queues.q.tenants.a";

  static Stream<Arguments> topLevelAndQueues() {
    return Stream.of(
        arguments("durations=1m", "unknown key durations; known are title, duration, seed,"),
        arguments("queues.q.wokers=1", "unknown key queues.q.wokers; known are workers, service,"),
        arguments(A + ".weigth=1", "did you mean weight?"),
        arguments(A + ".arrivals.size=3", "known are pattern, from, until, rate"),
        arguments("throttles.provider.capacity=3", "known are rate, burst"),
        arguments("callers.c.class=x", "unknown key callers.c.class; known are model, priority,"),
        arguments("models.m.rate=3", "models.m.rate is unknown; known are [allocation, "),
        arguments(
            "duration=5", "duration must be a duration in quotes, such as \"1.5s\", but was 5"),
        arguments(
            "duration=later",
            "duration: a duration must be a number with the unit ns, us, ms, s, m,"),
        arguments("duration=0s", "duration must be longer than 0s, but was \"0s\""),
        arguments("duration=400d", "duration must be from \"1s\" to \"366d\", but was \"400d\""),
        arguments("start=24:00", "start must be a time of day from \"00:00\" to \"23:59\""),
        arguments("steps=5", "steps must be a whole number from 10 to 1000, but was 5"),
        arguments("title=5", "title must be text in quotes, but was 5"),
        arguments("queues=5", "queues must be a table, but was 5"),
        arguments(
            "queues.q.strict_order=1", "queues.q.strict_order must be true or false, but was 1"),
        arguments("queues.q.workers=-1", "queues.q.workers must be a whole number from 0 to"),
        arguments("queues.q.tenants={}", "queues.q.tenants must have at least one"),
        arguments("queues.q.service=x", "queues.q.service: a duration must be a number with"),
        arguments(
            "queues.q.service={distribution='normal'}",
            "queues.q.service.distribution must be one of exponential, lognormal, uniform, but was "),
        arguments(
            "queues.q.service={distribution='uniform', mean='1s'}",
            "unknown key queues.q.service.mean; known are distribution, min, max"),
        arguments("queues.q.service={distribution='uniform', min='1s'}", "max is missing"),
        arguments(
            "queues.q.service={distribution='uniform', min='2s', max='1s'}",
            "queues.q.service.max must be at least min, but was \"1s\""),
        arguments(
            "queues.q.service={distribution='lognormal', median='2s', p99='1s'}",
            "queues.q.service.p99 must be at least the median, but was \"1s\""));
  }

  static Stream<Arguments> tenants() {
    return Stream.of(
        arguments(A + ".count=0", A + ".count must be a whole number from 1 to 100000, but was 0"),
        arguments(
            A + ".priority=32", A + ".priority must be a whole number from 0 to 31, but was 32"),
        arguments(A + ".throttles='provider'", "throttles must be a list of texts in quotes"),
        arguments(A + ".throttles=['provider=x']", "throttles: TOKENS must be a whole number"),
        arguments(A + ".throttles=['provider=6']", "must take at most the burst of provider"),
        arguments(
            A + ".throttles=['provider', 'other']",
            A + ".throttles must have a limit under throttles, which has [provider]: other"),
        arguments(
            "throttles={}", A + ".throttles must have a limit under throttles, which is empty"),
        arguments("throttles.'t:*'.rate=1", "throttles has limits that no tenant names: [t:*]"),
        arguments("throttles.provider.rate=-1", "throttles.provider.rate must be a number a"),
        arguments("throttles.provider.rate=1/2/3", "throttles.provider.rate must be a number a"),
        arguments("throttles.provider.burst=0.5", "burst must be a number from 1 to"),
        arguments(
            A + ".arrivals.rate=0", "arrivals.rate must be a number a second, or a rate such as"),
        arguments(A + ".arrivals.rate=5/x", "arrivals.rate: a duration must be a number with"),
        arguments(
            A + ".arrivals.pattern=wave",
            "arrivals.pattern must be one of steady, poisson, bursts, on_off, ramp, daily, trace"),
        arguments(A + ".arrivals={pattern='steady'}", "arrivals.rate is missing"),
        arguments(A + ".arrivals={}", "arrivals.pattern is missing"),
        arguments(
            A + ".arrivals={pattern='steady', rate=1, from='2s', until='1s'}",
            "arrivals.until must be later than from, but was \"1s\""),
        arguments(
            A + ".arrivals={pattern='daily', low=2, high=1}",
            "arrivals.high must be at least low, but was 1"),
        arguments(A + ".arrivals={pattern='trace'}", "arrivals.at or file must be given, and not"),
        arguments(A + ".arrivals={pattern='trace', at=['x']}", "arrivals.at: a duration must be"),
        arguments(
            A + ".arrivals={pattern='trace', file='absent.txt'}", "absent.txt': no such file"));
  }

  static Stream<Arguments> models() {
    return Stream.of(
        arguments("models.m.target_tpm=0", "target_tpm must be from 1 to"),
        arguments("budget_file=x.json", "models and budget_file cannot be combined"),
        arguments("routes.r=['x']", "routes.r must be of the models [m], but was x"),
        arguments("callers.c.model=n", "callers.c.model must be one of [m], but was n"),
        arguments("callers.c.priority=P9", "priority must be one of [default], but was P9"),
        arguments("callers.c.tokens=0", "callers.c.tokens must be a whole number from 1 to"),
        arguments("callers.c.used=-1", "callers.c.used must be a number from 0 to 10, but was -1"),
        arguments("callers.c.deadline=2d", "callers.c.deadline: maximum wait must be"),
        arguments("callers={}", "callers is required with models"));
  }

  private static Cli simulate(Path folder, String... changes) throws IOException {
    Path file = folder.resolve("scenario.toml");
    Files.writeString(file, SCENARIO);
    List<String> arguments = new ArrayList<>(List.of("simulate", file.toString(), "--no-report"));
    for (String change : changes) {
      arguments.add("--set");
      arguments.add(change);
    }
    return Cli.run(arguments.toArray(String[]::new));
  }

  @ParameterizedTest
  @MethodSource({"topLevelAndQueues", "tenants", "models"})
  void invalidKeyOrValue_isRefused(String change, String sentence, @TempDir Path folder)
      throws IOException {
    Cli cli = simulate(folder, change);
    assertThat(cli.err())
        .startsWith("sluice simulate: " + folder.resolve("scenario.toml") + ": ")
        .contains(sentence)
        .hasLineCount(1);
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.out()).isEmpty();
  }

  @Test
  void baseScenario_isValid(@TempDir Path folder) throws IOException {
    assertThat(simulate(folder)).returns("", Cli::err).returns(0, Cli::exitCode);
  }

  @Test
  void malformedSet_isRefused(@TempDir Path folder) throws IOException {
    assertThat(simulate(folder, "seed").err())
        .startsWith(
            "sluice simulate: --set must be KEY=VALUE, such as queues.mail.workers=8, but was ");
    assertThat(simulate(folder, "a:b=1").err()).contains("--set 'a:b=1' is not valid TOML");
  }

  @Test
  void malformedFile_isRefused(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("f.toml");
    assertRefused("cannot read '" + file + "': no such file", file.toString());
    Files.writeString(file, "duration = \"1m\"\nseed = = 3\n");
    assertRefused(file + " is not valid TOML, line 2, column ", file.toString());
    Files.writeString(file, "duration = \"1m\"\n");
    assertRefused(
        file + ": queues or callers is required: the scenario has no load", file.toString());
    Files.write(file, new byte[] {(byte) 0xff});
    assertRefused("cannot read '" + file + "': not UTF-8", file.toString());
  }

  @Test
  void conflictingOptions_areRefused(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("f.toml");
    Files.writeString(file, SCENARIO);
    assertRefused("--initial, --wait and --file require a limit", file.toString(), "--wait");
    assertRefused(
        "--set, --report and --no-report require a scenario",
        "--refill",
        "1/1s",
        "0s:1",
        "--no-report");
    assertRefused(
        "--report and --no-report cannot be combined",
        file.toString(),
        "--no-report",
        "--report",
        "x");
    assertRefused(
        "--report must not be the scenario itself", file.toString(), "--report", file.toString());
    assertRefused("give one FILE with a scenario, or a limit and requests");
    assertRefused("give one FILE with a scenario", file.toString(), file.toString());
  }

  @Test
  void report_unwritablePath_namesTheCause(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("f.toml");
    Files.writeString(file, SCENARIO);
    assertNotWritten(file, folder, "Is a directory");
    Path absent = folder.resolve("absent");
    assertNotWritten(
        file, absent.resolve("x.html"), "no such directory: " + Quoting.of("" + absent));
    assertNotWritten(file, file.resolve("x.html"), "no such directory: " + Quoting.of("" + file));
    assertRefused("cannot write '/proc/x.html': ", file.toString(), "--report", "/proc/x.html");
  }

  @Test
  void moreThanCanBeSimulated_isRefusedAtOnce(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("f.toml");
    Files.writeString(file, SCENARIO);
    assertRefused(
        "a scenario may have at most 50,000,000 arrivals, exceeded by " + A,
        file.toString(),
        "--set",
        "duration=366d",
        "--set",
        A + ".count=1000",
        "--set",
        A + ".arrivals={pattern='bursts', every='1s', size=1000000}");
  }

  @Test
  void fileWithoutEnd_isRefused() {
    assertRefused("'/dev/zero' must have at most 67108864 bytes", "/dev/zero");
  }

  private static void assertNotWritten(Path file, Path page, String cause) {
    assertRefused(
        "cannot write %s: %s\n".formatted(Quoting.of(page.toString()), cause),
        file.toString(),
        "--report",
        page.toString());
  }

  private static void assertRefused(String sentence, String... arguments) {
    List<String> all = new ArrayList<>(List.of("simulate"));
    all.addAll(List.of(arguments));
    Cli cli = Cli.run(all.toArray(String[]::new));
    assertThat(cli.err()).startsWith("sluice simulate: " + sentence).hasLineCount(1);
    assertThat(cli.exitCode()).isEqualTo(2);
  }

  @Test
  void tooManyWaiters_endWithAHint(@TempDir Path folder) throws IOException {
    Cli cli = simulate(folder, A + ".arrivals={pattern='bursts', size=600000, every='1s'}");
    assertThat(cli.err()).contains("queue q: more than 1000000 messages wait", "set max_depth");
    assertThat(cli.exitCode()).isEqualTo(2);
  }
}
