package dev.sluice.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Option;

/** Entry point of the {@code sluice} command. */
@Command(
    name = "sluice",
    versionProvider = BuildVersion.class,
    description = "Decides who may go now, who waits, and for how long.",
    synopsisSubcommandLabel = "COMMAND",
    commandListHeading = "%nCommands:%n",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:the server refused or failed",
      "2:wrong usage; nothing was done",
      "3:a limit said no (limit decide)",
      "4:the server cannot be reached or does not answer"
    },
    footer = {"", "Try 'sluice demo', or 'sluice COMMAND --help'."})
public final class Sluice extends Action {
  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Print the version and exit.")
  boolean versionAsked;

  private Sluice() {}

  public static void main(String[] args) {
    System.exit(commandLine(Surroundings.ofProcess()).execute(args));
  }

  /** The whole command line. A new command is a class, and a line here. */
  static CommandLine commandLine(Surroundings surroundings) {
    CommandLine sluice =
        new CommandLine(new Sluice())
            .addSubcommand(new ServeCommand())
            .addSubcommand(QueueCommands.of(surroundings))
            .addSubcommand(MessageCommands.of(surroundings))
            .addSubcommand(new RedriveCommand(surroundings))
            .addSubcommand(ConfigCommands.of(surroundings))
            .addSubcommand(ThrottleCommands.of(surroundings))
            .addSubcommand(LimitCommands.of(surroundings))
            .addSubcommand(KeyCommands.of(surroundings))
            .addSubcommand(new TopCommand(surroundings))
            .addSubcommand(new DemoCommand(surroundings))
            .addSubcommand(new SimulateCommand(surroundings))
            .addSubcommand(new CompletionCommand())
            .addSubcommand(new VersionCommand(surroundings))
            .addSubcommand(new HelpCommand());
    return sluice
        .setExpandAtFiles(false)
        .setParameterExceptionHandler(Failures::onUsage)
        .setExecutionExceptionHandler(Failures::onExecution);
  }

  /** Without a command there is nothing to do but to say which ones there are. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCode.USAGE;
  }
}
