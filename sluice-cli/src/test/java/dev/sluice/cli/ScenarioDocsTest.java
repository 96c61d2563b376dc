package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.simulate.scenario.ScenarioKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/simulate.md has every key of a scenario, and no other; its scenario runs. */
class ScenarioDocsTest {
  private static final Path PAGE = Path.of("../docs/simulate.md");
  private static final Pattern CODE = Pattern.compile("`([a-z_0-9]+)`");
  private static final Pattern TOML = Pattern.compile("(?s)```toml\n(.*?)```");
  private static final Pattern COMMAND = Pattern.compile("(?m)^\\./sluice (simulate examples/.*)$");

  /** The cells of each row of the tables under a heading, without their heads. */
  private static List<String[]> rows(String heading) throws IOException {
    String page = Files.readString(PAGE);
    int start = page.indexOf("\n## " + heading + "\n");
    assertThat(start).as(heading).isNotNegative();
    int end = page.indexOf("\n## ", start + 1);
    return page.substring(start, end < 0 ? page.length() : end)
        .lines()
        .filter(line -> line.startsWith("| `") && !line.contains("| keys |"))
        .map(line -> line.substring(2).split(" \\| ", -1))
        .toList();
  }

  private static Set<String> names(String cell) {
    Set<String> names = new TreeSet<>();
    CODE.matcher(cell).results().map((MatchResult each) -> each.group(1)).forEach(names::add);
    return names;
  }

  private static void assertKeys(String heading, List<String> keys) throws IOException {
    Set<String> named = new TreeSet<>();
    rows(heading).forEach(row -> named.addAll(names(row[0])));
    assertThat(named).as(heading).isEqualTo(new TreeSet<>(keys));
  }

  private static void assertKinds(String heading, Map<String, List<String>> kinds)
      throws IOException {
    Map<String, Set<String>> named = new LinkedHashMap<>();
    rows(heading).forEach(row -> named.put(names(row[0]).iterator().next(), names(row[1])));
    Map<String, Set<String>> known = new LinkedHashMap<>();
    kinds.forEach((kind, keys) -> known.put(kind, new TreeSet<>(keys)));
    assertThat(named).as(heading).isEqualTo(known);
  }

  @Test
  void page_hasEveryKey() throws IOException {
    assertKeys("Top level", ScenarioKeys.SCENARIO);
    assertKeys("throttles.KEY", ScenarioKeys.THROTTLE);
    assertKeys("queues.NAME", ScenarioKeys.QUEUE);
    assertKeys("queues.NAME.tenants.NAME", ScenarioKeys.TENANT);
    assertKeys("callers.NAME", ScenarioKeys.CALLER);
    assertKinds("Values", ScenarioKeys.DISTRIBUTIONS);
    assertKinds("Arrivals", ScenarioKeys.PATTERNS);
    assertThat(Files.readString(PAGE)).contains("All have `pattern`, and `from` and `until`");
  }

  @Test
  void scenario_runs(@TempDir Path folder) throws IOException {
    Matcher block = TOML.matcher(Files.readString(PAGE));
    assertThat(block.find()).isTrue();
    Path file = folder.resolve("page.toml");
    Files.writeString(file, block.group(1));
    Cli cli = Cli.run("simulate", file.toString(), "--no-report");
    assertThat(cli.err()).isEmpty();
    assertThat(cli.out()).startsWith("Two tenants, one provider: 2h simulated").contains("quiet");
  }

  @Test
  void commands_work(@TempDir Path folder) throws IOException {
    List<String> commands =
        COMMAND
            .matcher(Files.readString(PAGE) + Files.readString(Path.of("../README.md")))
            .results()
            .map(each -> each.group(1).replace("examples/", "../examples/"))
            .toList();
    assertThat(commands).hasSizeGreaterThanOrEqualTo(3);
    for (String command : commands) {
      String shorter = command + " --set duration=2m --no-report";
      Cli cli = Cli.run(Arrays.stream(shorter.split(" ")).toArray(String[]::new));
      assertThat(cli).as(command).returns(0, Cli::exitCode).returns("", Cli::err);
    }
  }
}
