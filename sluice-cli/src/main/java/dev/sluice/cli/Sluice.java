package dev.sluice.cli;

import dev.sluice.cli.commands.ApiKeyCommands;
import dev.sluice.cli.commands.CompletionCommand;
import dev.sluice.cli.commands.ConfigCommands;
import dev.sluice.cli.commands.GovernorCommands;
import dev.sluice.cli.commands.LimitCommands;
import dev.sluice.cli.commands.MessageCommands;
import dev.sluice.cli.commands.QueueCommands;
import dev.sluice.cli.commands.RedriveCommand;
import dev.sluice.cli.commands.ServeCommand;
import dev.sluice.cli.commands.ThrottleCommands;
import dev.sluice.cli.commands.TopCommand;
import dev.sluice.cli.commands.VersionCommand;
import dev.sluice.cli.demo.DemoCommand;
import dev.sluice.cli.runtime.BaseCommand;
import dev.sluice.cli.runtime.BuildVersion;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.ErrorReporter;
import dev.sluice.cli.simulate.SimulateCommand;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
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
      "3:a limit or the governor said no",
      "4:the server cannot be reached or does not answer"
    },
    footer = {"", "Try 'sluice demo', or 'sluice COMMAND --help'."})
public final class Sluice extends BaseCommand {
  private static final String SERVE = "serve";

  /** Commands that speak of all others. */
  private static final Set<String> WANT_ALL = Set.of("completion", "help");

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Print the version and exit.")
  boolean versionAsked;

  private Sluice() {}

  public static void main(String[] args) {
    if (args.length > 0 && !args[0].equals(SERVE)) {
      silenceLibraries();
    }
    System.exit(commandLine(CommandContext.ofProcess(), args).execute(args));
  }

  /** A client says what there is to say itself, and starts sooner without a logging system. */
  private static void silenceLibraries() {
    System.setProperty("slf4j.provider", "org.slf4j.helpers.NOP_FallbackServiceProvider");
    System.setProperty("slf4j.internal.verbosity", "ERROR");
    // gRPC logs here. Any class will do: it is made instead of reading a configuration.
    System.setProperty("java.util.logging.config.class", Object.class.getName());
  }

  /** A new command is a class, and a line here. */
  private static Map<String, Supplier<Object>> commands(CommandContext surroundings) {
    Map<String, Supplier<Object>> commands = new LinkedHashMap<>();
    commands.put(SERVE, () -> new ServeCommand());
    commands.put("queue", () -> QueueCommands.of(surroundings));
    commands.put("message", () -> MessageCommands.of(surroundings));
    commands.put("redrive", () -> new RedriveCommand(surroundings));
    commands.put("config", () -> ConfigCommands.of(surroundings));
    commands.put("throttle", () -> ThrottleCommands.of(surroundings));
    commands.put("limit", () -> LimitCommands.of(surroundings));
    commands.put("governor", () -> GovernorCommands.of(surroundings));
    commands.put("key", () -> ApiKeyCommands.of(surroundings));
    commands.put("top", () -> new TopCommand(surroundings));
    commands.put("demo", () -> new DemoCommand(surroundings));
    commands.put("simulate", () -> new SimulateCommand(surroundings));
    commands.put("completion", CompletionCommand::new);
    commands.put("version", () -> new VersionCommand(surroundings));
    commands.put("help", HelpCommand::new);
    return commands;
  }

  /** The whole command line. */
  static CommandLine commandLine(CommandContext surroundings) {
    CommandLine sluice = new CommandLine(new Sluice());
    commands(surroundings).values().forEach(command -> sluice.addSubcommand(command.get()));
    return handling(sluice);
  }

  /** As much of it as {@code args} need: to look at every command and its options takes time. */
  static CommandLine commandLine(CommandContext surroundings, String[] args) {
    Supplier<Object> only =
        args.length == 0 || WANT_ALL.contains(args[0]) ? null : commands(surroundings).get(args[0]);
    return only == null
        ? commandLine(surroundings)
        : handling(new CommandLine(new Sluice()).addSubcommand(only.get()));
  }

  private static CommandLine handling(CommandLine sluice) {
    return sluice
        .setExpandAtFiles(false)
        .setParameterExceptionHandler(ErrorReporter::onUsage)
        .setExecutionExceptionHandler(ErrorReporter::onExecution);
  }

  /** Without a command there is nothing to do but to say which ones there are. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCode.USAGE;
  }
}
