package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.BaseCommand;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;

/** {@code sluice completion}. */
@Command(
    name = "completion",
    description = "Print a script that completes sluice's commands in bash and zsh.",
    footer = {"", "To use it in this shell:", "  source <(sluice completion)"})
public final class CompletionCommand extends BaseCommand {
  @Override
  public Integer call() {
    CommandLine root = spec.root().commandLine();
    out().print(AutoComplete.bash(root.getCommandName(), root));
    out().flush();
    return ExitCode.OK;
  }
}
