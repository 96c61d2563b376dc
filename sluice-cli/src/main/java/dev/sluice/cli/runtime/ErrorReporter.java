package dev.sluice.cli.runtime;

import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Quoting;
import dev.sluice.cli.text.TerminalText;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Reports failures as one sentence and an exit code. */
public final class ErrorReporter {
  private ErrorReporter() {}

  /** Reports arguments that picocli refuses. */
  public static int onUsage(ParameterException failure, String[] args) {
    CommandLine command = failure.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    command.getErr().println(name + ": " + TerminalText.lines(sentence(failure)));
    command.getErr().println("Try '" + name + " --help'.");
    return ExitCode.USAGE;
  }

  /**
   * Reports invalid input and failed commands. Any other exception is a bug and printed with its
   * stack trace.
   */
  public static int onExecution(Exception failure, CommandLine command, ParseResult parsed) {
    PrintWriter err = command.getErr();
    String name = command.getCommandSpec().qualifiedName();
    if (failure instanceof InvalidInputException) {
      err.println(name + ": " + TerminalText.line(String.valueOf(failure.getMessage())));
      return ExitCode.USAGE;
    }
    if (failure instanceof CommandFailedException failed) {
      err.println(name + ": " + TerminalText.line(String.valueOf(failed.getMessage())));
      return failed.exitCode();
    }
    err.println(name + ": unexpected failure; report it:");
    StringWriter trace = new StringWriter();
    failure.printStackTrace(new PrintWriter(trace));
    err.println(TerminalText.lines(trace.toString().stripTrailing()));
    return ExitCode.SOFTWARE;
  }

  private static String sentence(ParameterException failure) {
    if (failure instanceof UnmatchedArgumentException unmatched) {
      return sentence(unmatched);
    }
    String message = String.valueOf(failure.getMessage());
    return message.startsWith("Error: ") ? message.substring("Error: ".length()) : message;
  }

  private static String sentence(UnmatchedArgumentException failure) {
    String argument = Quoting.of(failure.getUnmatched().get(0));
    List<String> meant = failure.getSuggestions();
    return (failure.isUnknownOption() ? "unknown option " : unexpected(failure.getCommandLine()))
        + argument
        + (meant.isEmpty() ? "" : "; did you mean " + String.join(" or ", meant) + "?");
  }

  private static String unexpected(CommandLine command) {
    return command.getSubcommands().isEmpty() ? "unexpected argument " : "unknown command ";
  }
}
