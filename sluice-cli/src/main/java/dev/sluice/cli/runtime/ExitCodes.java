package dev.sluice.cli.runtime;

import picocli.CommandLine.ExitCode;

/** What a command's exit code says, as {@code sluice --help} and docs/cli.md have it. */
public final class ExitCodes {
  public static final int OK = ExitCode.OK;

  /** The server refused or failed, or there is nothing of that name. */
  public static final int FAILED = ExitCode.SOFTWARE;

  public static final int USAGE = ExitCode.USAGE;

  /** {@code limit decide} was told no, or a command of {@code governor} anything but go. */
  public static final int LIMITED = 3;

  /** There is no server, or it did not answer. */
  public static final int UNREACHABLE = 4;

  /** The store of {@code serve} failed or cannot be opened; a supervisor should start it again. */
  public static final int STORE = 5;

  /** {@code serve} needs a larger heap for the messages that its store holds. */
  public static final int HEAP = 6;

  private ExitCodes() {}
}
