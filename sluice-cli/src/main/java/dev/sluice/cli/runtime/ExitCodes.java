package dev.sluice.cli.runtime;

import picocli.CommandLine.ExitCode;

/** Exit codes of commands, listed in {@code sluice --help} and docs/cli.md. */
public final class ExitCodes {
  public static final int OK = ExitCode.OK;

  /** The server refused the call or failed, or the resource does not exist. */
  public static final int FAILED = ExitCode.SOFTWARE;

  public static final int USAGE = ExitCode.USAGE;

  /** {@code limit decide} or a command of {@code governor} was not granted. */
  public static final int LIMITED = 3;

  /** The server cannot be reached or did not answer in time. */
  public static final int UNREACHABLE = 4;

  /** The store of {@code serve} failed or cannot be opened; a supervisor should restart it. */
  public static final int STORE = 5;

  /** {@code serve} needs a larger heap for the messages that its store holds. */
  public static final int HEAP = 6;

  private ExitCodes() {}
}
