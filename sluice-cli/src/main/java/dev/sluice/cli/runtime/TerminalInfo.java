package dev.sluice.cli.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Help.Ansi;

/**
 * Behind which streams of the process somebody sits.
 *
 * @param input whether somebody can answer a question
 * @param output whether the standard output is watched, by a terminal whose lines can be rewritten
 * @param error whether the standard error is
 * @param screen whether the standard output is watched by any terminal
 */
public record TerminalInfo(boolean input, boolean output, boolean error, boolean screen) {
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  /** Java knows only whether input and output both are terminals; Linux says it of each. */
  static TerminalInfo ofProcess() {
    if (!Files.isDirectory(DESCRIPTORS)) {
      boolean all = Ansi.AUTO.enabled();
      return new TerminalInfo(all, all, all, all);
    }
    boolean capable = !"dumb".equals(System.getenv("TERM"));
    boolean screen = isTerminal("1");
    return new TerminalInfo(isTerminal("0"), capable && screen, capable && isTerminal("2"), screen);
  }

  private static boolean isTerminal(String descriptor) {
    try {
      String device = Files.readSymbolicLink(DESCRIPTORS.resolve(descriptor)).toString();
      return device.startsWith("/dev/pts/")
          || device.startsWith("/dev/tty")
          || device.equals("/dev/console");
    } catch (IOException closed) {
      return false;
    }
  }
}
