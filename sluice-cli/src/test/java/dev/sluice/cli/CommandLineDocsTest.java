package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** docs/cli.md names every command and option, and no others; the README's commands work. */
final class CommandLineDocsTest {
  private static final Pattern SECTION = Pattern.compile("(?m)^## ");
  private static final Pattern OPTION = Pattern.compile("--[a-z][a-z-]+");
  private static final Pattern README_LINE =
      Pattern.compile("(?m)^\\./sluice ((?:queue|message|limit) .*)$");

  private static Map<String, CommandLine> commands() {
    CommandLine root =
        Sluice.commandLine(
            new Surroundings(
                System.in, new Terminals(false, false, false), Map.of(), ManualPacer::new));
    return root.getSubcommands();
  }

  /** By heading. */
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

  @Test
  void readme_linesWork(@TempDir Path dir) throws Exception {
    List<String> lines =
        README_LINE
            .matcher(Files.readString(Path.of("../README.md")))
            .results()
            .map(line -> line.group(1))
            .toList();
    assertThat(lines).hasSize(5);
    try (CliServer server = new CliServer(dir, null)) {
      List<String> said = new ArrayList<>();
      lines.forEach(line -> said.add(server.ok(line.split(" "))));
      assertThat(said.get(1)).isNotBlank();
      said.remove(1);
      assertThat(said).containsExactly("created mail\n", "hello\n", "set provider\n", "granted\n");
    }
  }
}
