package dev.sluice.cli;

import picocli.CommandLine.Command;

/** Commands about one thing. */
@Command(synopsisSubcommandLabel = "COMMAND", commandListHeading = "%nCommands:%n")
abstract class CommandGroup extends Action {
  /** Without a command there is nothing to do but to say which ones there are. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCodes.USAGE;
  }
}
