package dev.sluice.cli.runtime;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command: does its work in {@code call} and returns the exit code. */
@Command(sortOptions = false, usageHelpAutoWidth = true)
public abstract class BaseCommand implements Callable<Integer> {
  /** Set by picocli before {@code call}. */
  @SuppressWarnings("NullAway.Init")
  @Spec
  public CommandSpec spec;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Print this help and exit.")
  boolean helpRequested;

  public final PrintWriter out() {
    return spec.commandLine().getOut();
  }

  public final PrintWriter err() {
    return spec.commandLine().getErr();
  }

  /** Returns whether the output was closed; print streams do not throw. */
  public final boolean outputClosed() {
    return out().checkError() || System.out.checkError();
  }
}
