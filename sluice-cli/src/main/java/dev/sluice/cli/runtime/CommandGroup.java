package dev.sluice.cli.runtime;

import picocli.CommandLine.Command;

/** Commands about one thing. */
@Command(synopsisSubcommandLabel = "COMMAND", commandListHeading = "%nCommands:%n")
public abstract class CommandGroup extends BaseCommand {
  /** Without a command there is nothing to do but to say which ones there are. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCodes.USAGE;
  }
}
