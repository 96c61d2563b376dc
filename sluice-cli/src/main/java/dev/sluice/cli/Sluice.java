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
    description = "Fair queues, rate limits and LLM token budgets.",
    synopsisSubcommandLabel = "COMMAND",
    commandListHeading = "%nCommands:%n",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:the server refused or failed",
      "2:wrong usage; nothing was done",
      "3:a limit or the governor did not grant the request",
      "4:the server cannot be reached or did not answer in time"
    },
    footer = {"", "Try 'sluice demo', or 'sluice COMMAND --help'."})
public final class Sluice extends BaseCommand {
  private static final String SERVE = "serve";

  /** Commands that need all others. */
  private static final Set<String> NEED_ALL = Set.of("completion", "help");

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Print the version and exit.")
  boolean versionRequested;

  private Sluice() {}

  public static void main(String[] args) {
    if (args.length > 0 && !args[0].equals(SERVE)) {
      silenceLibraries();
    }
    System.exit(commandLine(CommandContext.ofProcess(), args).execute(args));
  }

  /** Clients report errors themselves, and start faster without a logging system. */
  private static void silenceLibraries() {
    System.setProperty("slf4j.provider", "org.slf4j.helpers.NOP_FallbackServiceProvider");
    System.setProperty("slf4j.internal.verbosity", "ERROR");
    // gRPC uses java.util.logging, which creates this class instead of reading a configuration.
    System.setProperty("java.util.logging.config.class", Object.class.getName());
  }

  /** Returns all commands by name; each new command needs an entry. */
  private static Map<String, Supplier<Object>> commands(CommandContext context) {
    Map<String, Supplier<Object>> commands = new LinkedHashMap<>();
    commands.put(SERVE, () -> new ServeCommand());
    commands.put("queue", () -> QueueCommands.of(context));
    commands.put("message", () -> MessageCommands.of(context));
    commands.put("redrive", () -> new RedriveCommand(context));
    commands.put("config", () -> ConfigCommands.of(context));
    commands.put("throttle", () -> ThrottleCommands.of(context));
    commands.put("limit", () -> LimitCommands.of(context));
    commands.put("governor", () -> GovernorCommands.of(context));
    commands.put("api-key", () -> ApiKeyCommands.of(context));
    commands.put("top", () -> new TopCommand(context));
    commands.put("demo", () -> new DemoCommand(context));
    commands.put("simulate", () -> new SimulateCommand(context));
    commands.put("completion", CompletionCommand::new);
    commands.put("version", () -> new VersionCommand(context));
    commands.put("help", HelpCommand::new);
    return commands;
  }

  /** Returns the whole command line. */
  static CommandLine commandLine(CommandContext context) {
    CommandLine sluice = new CommandLine(new Sluice());
    commands(context).values().forEach(command -> sluice.addSubcommand(command.get()));
    return handling(sluice);
  }

  /** Returns the part that {@code args} need, because reflection on every command takes time. */
  static CommandLine commandLine(CommandContext context, String[] args) {
    Supplier<Object> only =
        args.length == 0 || NEED_ALL.contains(args[0]) ? null : commands(context).get(args[0]);
    return only == null
        ? commandLine(context)
        : handling(new CommandLine(new Sluice()).addSubcommand(only.get()));
  }

  private static CommandLine handling(CommandLine sluice) {
    return sluice
        .setExpandAtFiles(false)
        .setParameterExceptionHandler(ErrorReporter::onUsage)
        .setExecutionExceptionHandler(ErrorReporter::onExecution);
  }

  /** Prints the usage, since no command is given. */
  @Override
  public Integer call() {
    spec.commandLine().usage(err());
    return ExitCode.USAGE;
  }
}
