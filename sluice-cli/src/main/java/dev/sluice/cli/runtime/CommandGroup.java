package dev.sluice.cli.runtime;

import picocli.CommandLine.Command;

/** A command that only has subcommands. */
@Command(synopsisSubcommandLabel = "COMMAND", commandListHeading = "%nCommands:%n")
public abstract class CommandGroup extends BaseCommand {
  /** Prints the usage, since no subcommand is given. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCodes.USAGE;
  }
}
