package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.TerminalInfo;
import dev.sluice.testkit.load.SeedBudget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** docs/cli.md names every command and option, and no others; commands that pages show work. */
final class CommandLineDocsTest {
  private static final Pattern SECTION = Pattern.compile("(?m)^## ");
  private static final Pattern OPTION = Pattern.compile("--[a-z][a-z-]+");

  /** A code block of any language; lines to type have none. */
  private static final Pattern BLOCK = Pattern.compile("(?m)^```([a-z]*)\\n((?:.*\\n)*?)```$");

  /**
   * Lines that build, that run until they are stopped, or that have a placeholder; other tests run
   * them.
   */
  private static final Pattern OTHERS =
      Pattern.compile(
          "\\./(test|bench)\\b.*|sluice (serve|demo|simulate|version|governor init)\\b.*"
              + "|.*( --follow | < |<\\(|\\b(ID|TICKET|RESERVATION)\\b).*");

  private static final Pattern LUA =
      Pattern.compile("(?s)### Exponential back-off\n.*?```lua\n(.*?)```");

  private static final Pattern CURL_LINES =
      Pattern.compile("(?s)```\n(curl -X POST localhost:8080/v1/queues -d .*?)```");

  private static Map<String, CommandLine> commands() {
    CommandLine root =
        Sluice.commandLine(
            new CommandContext(
                System.in,
                new TerminalInfo(false, false, false, false),
                Map.of(),
                ManualCommandTimer::new));
    return root.getSubcommands();
  }

  /** Returns the sections of docs/cli.md by heading. */
  private static Map<String, String> sections() throws Exception {
    Map<String, String> sections = new LinkedHashMap<>();
    for (String part :
        SECTION.splitAsStream(Files.readString(Path.of("../docs/cli.md"))).toList()) {
      sections.put(part.lines().findFirst().orElseThrow(), part);
    }
    return sections;
  }

  private static List<CommandLine> withSubcommands(CommandLine command) {
    List<CommandLine> all = new ArrayList<>(List.of(command));
    command.getSubcommands().values().forEach(each -> all.addAll(withSubcommands(each)));
    return all;
  }

  private static Set<String> options(CommandLine command) {
    Set<String> names = new TreeSet<>();
    for (OptionSpec option : command.getCommandSpec().options()) {
      Arrays.stream(option.names()).filter(name -> name.startsWith("--")).forEach(names::add);
      if (option.negatable()) {
        names.add("--no-" + option.longestName().substring(2));
      }
    }
    return names;
  }

  @Test
  void page_namesEveryCommandAndOption() throws Exception {
    Map<String, String> sections = sections();
    String common = sections.get("Every command that calls a server");
    for (Map.Entry<String, CommandLine> group : commands().entrySet()) {
      if (group.getKey().equals("help")) {
        continue;
      }
      String section = sections.get(group.getKey());
      assertThat(section).as(group.getKey()).isNotNull();
      for (CommandLine command : withSubcommands(group.getValue())) {
        if (command.getSubcommands().isEmpty()) {
          assertThat(section).contains(command.getCommandSpec().qualifiedName());
        }
        // The page of the server has these.
        if (!group.getKey().equals("serve")) {
          assertThat(named(section + common)).containsAll(options(command));
        }
      }
    }
  }

  @Test
  void page_namesNoOtherOption() throws Exception {
    Set<String> known = new TreeSet<>();
    commands().values().stream()
        .flatMap(command -> withSubcommands(command).stream())
        .forEach(command -> known.addAll(options(command)));
    assertThat(known).containsAll(named(String.join("\n", sections().values())));
  }

  private static Set<String> named(String text) {
    Set<String> names = new TreeSet<>();
    OPTION.matcher(text).results().map(MatchResult::group).forEach(names::add);
    return names;
  }

  /** Runs the shown lines, page after page, on one server. */
  @Test
  void shownLines_work(@TempDir Path dir) throws Exception {
    Path script = Files.writeString(dir.resolve("retry.lua"), backOffScript());
    try (CliServer server = CliServer.governed(dir.resolve("data"), SeedBudget.FILE)) {
      assertServerPageWorks(server);
      for (Path page : pagesThatAreTyped()) {
        for (String line : shownLines(page)) {
          type(server, line.replace("retry.lua", script.toString()), page);
        }
      }
    }
  }

  private static List<Path> pagesThatAreTyped() throws IOException {
    List<Path> pages = new ArrayList<>(List.of(Path.of("../README.md")));
    try (Stream<Path> recipes = Files.list(Path.of("../docs/recipes"))) {
      recipes.sorted().forEach(pages::add);
    }
    pages.addAll(List.of(Path.of("../docs/console.md"), Path.of("../docs/cli.md")));
    return pages;
  }

  /** Returns the lines of a page without comments, and without those of {@link #OTHERS}. */
  private static List<String> shownLines(Path page) throws IOException {
    return BLOCK
        .matcher(Files.readString(page))
        .results()
        .filter(block -> block.group(1).isEmpty())
        .flatMap(block -> block.group(2).lines())
        .map(line -> line.replaceAll(" +#.*", "").replaceFirst("^\\./sluice ", "sluice "))
        .filter(line -> !OTHERS.matcher(line).matches())
        .toList();
  }

  private static void type(CliServer server, String line, Path page) throws Exception {
    if (line.startsWith("sluice ")) {
      String[] arguments = line.substring("sluice ".length()).replace("'", "").split(" ");
      Cli cli = server.run(arguments);
      assertThat(cli.exitCode()).as("%s: %s: %s", page, line, cli.err()).isZero();
      assertThat(cli.err()).as(line).isEmpty();
      assertThat(cli.out()).as(line).isNotBlank();
    } else {
      assertThat(line).as("%s: a line must be one that is run here", page).startsWith("curl ");
      bash(atPort(server, line.replace("curl ", "curl -sSf ")));
    }
  }

  private static String backOffScript() throws IOException {
    Matcher script = LUA.matcher(Files.readString(Path.of("../docs/hooks.md")));
    assertThat(script.find()).isTrue();
    return script.group(1);
  }

  private static String atPort(CliServer server, String lines) {
    return lines.replace("localhost:8080", "localhost:" + server.httpPort());
  }

  private static void assertServerPageWorks(CliServer server) throws Exception {
    String curl = curlLines(Path.of("../docs/server.md"));
    assertThat(String.join("\n", bash(atPort(server, curl))))
        .contains("\"payload\":\"hello\"", "\"outcome\":\"GRANTED\"", "\"granted\":true")
        .doesNotContain("\"error\"");
    assertThat(server.json("queue", "stats", "jobs", "--json").get(0))
        .containsEntry("depth", 0L)
        .extracting("totals")
        .asString()
        .contains("acked=1");
  }

  private static String curlLines(Path page) throws IOException {
    Matcher block = CURL_LINES.matcher(Files.readString(page));
    assertThat(block.find()).as("%s", page).isTrue();
    return block.group(1);
  }

  /** Runs the lines in one shell and returns their output. */
  private static List<String> bash(String lines) throws Exception {
    Process bash =
        new ProcessBuilder("bash", "-eu", "-o", "pipefail", "-c", lines)
            .redirectErrorStream(true)
            .start();
    List<String> printed = bash.inputReader().lines().toList();
    assertThat(bash.waitFor()).as("%s", printed).isZero();
    return printed;
  }
}
