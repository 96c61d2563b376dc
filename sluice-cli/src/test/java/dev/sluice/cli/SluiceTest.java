package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.BuildVersion;
import dev.sluice.cli.runtime.CommandContext;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SluiceTest {

  @Test
  void noArguments_printsUsageAndFails() {
    Cli cli = Cli.run();
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.out()).isEmpty();
    assertThat(cli.err())
        .startsWith("Usage: sluice [-hV] COMMAND\n")
        .contains(
            "  serve  ",
            "  queue  ",
            "  top  ",
            "  demo  ",
            "  simulate  ",
            "  completion  ",
            "  version  ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h", "help"})
  void help_printsUsage(String argument) {
    Cli cli = Cli.run(argument);
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).startsWith("Usage: sluice [-hV] COMMAND\n");
    assertThat(cli.err()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"serve", "queue", "message", "governor", "top", "demo", "completion", "version"})
  void help_ofCommand_isTheSameBothWays(String command) {
    Cli cli = Cli.run(command, "--help");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).startsWith("Usage: sluice " + command);
    assertThat(Cli.run("help", command)).isEqualTo(cli);
  }

  /** The list has the first line of each command's description. */
  @Test
  void help_listsCommandsInWholeSentences() {
    assertThat(Sluice.commandLine(CommandContext.ofProcess()).getSubcommands().values())
        .allSatisfy(
            command ->
                assertThat(command.getCommandSpec().usageMessage().description()[0]).endsWith("."));
  }

  @Test
  void help_fitsTerminal() {
    String all =
        Cli.run("--help").out() + Cli.run("simulate", "-h").out() + Cli.run("demo", "-h").out();
    assertThat(all.lines()).allMatch(line -> line.length() <= 80);
  }

  @Test
  void version_comesFromBuild() {
    Cli cli = Cli.run("--version");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).matches("sluice \\d+\\.\\d+\\.\\d+(-SNAPSHOT)?\n");
    assertThat(Cli.run("version").out()).startsWith(cli.out()).contains("Java   ", "OS     ");
  }

  @Test
  void version_json() {
    Cli cli = Cli.run("version", "--json");
    assertThat(cli.exitCode()).isZero();
    Map<String, Object> json = cli.json();
    assertThat(json).containsOnlyKeys("version", "java", "os");
    assertThat(json.get("version")).isEqualTo(BuildVersion.number());
  }

  @Test
  void completion_namesCommandsAndOptions() {
    Cli cli = Cli.run("completion");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out())
        .startsWith("#!/usr/bin/env bash")
        .contains(
            "complete -F _complete_sluice",
            "serve queue message redrive config throttle limit governor api-key")
        .contains("'--refill'", "'--strict'", "--wait", "--json", "_picocli_sluice_queue_create")
        .contains("'--server'", "'--dedupe-window'", "create list show whoami allow revoke")
        .contains("request ticket cancel settle extend explain status feedback reload");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          foo           | sluice: unknown command 'foo'
          demoo         | sluice: unknown command 'demoo'; did you mean demo
          --foo         | sluice: unknown option '--foo'
          version x     | sluice version: unexpected argument 'x'
          version --jsn | sluice version: unknown option '--jsn'; did you mean --json?
          help foo      | sluice: Unknown subcommand 'foo'.
          top --count   | sluice top: Missing required parameter for option '--count' (N)
          """)
  void usageError_isOneSentenceAndAHint(String arguments, String sentence) {
    Cli cli = Cli.run(arguments.split(" "));
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.out()).isEmpty();
    assertThat(cli.err()).startsWith(sentence).endsWith(" --help'.\n").hasLineCount(2);
  }

  @Test
  void unexpectedFailure_isReportedAsBug() {
    Cli cli =
        Cli.run(
            new Cli.Setting()
                .timer(
                    () -> {
                      throw new IllegalStateException("broken");
                    }),
            "demo");
    assertThat(cli.exitCode()).isEqualTo(1);
    assertThat(cli.err())
        .startsWith("sluice demo: unexpected failure; report it:")
        .contains("IllegalStateException: broken");
  }
}
