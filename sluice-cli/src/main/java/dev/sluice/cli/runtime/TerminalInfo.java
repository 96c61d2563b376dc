package dev.sluice.cli.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Help.Ansi;

/**
 * Which standard streams of the process are terminals.
 *
 * @param input whether the standard input is a terminal, so that questions can be answered
 * @param output whether the standard output is a terminal whose lines can be rewritten
 * @param error whether the standard error is a terminal whose lines can be rewritten
 * @param screen whether the standard output is any terminal
 */
public record TerminalInfo(boolean input, boolean output, boolean error, boolean screen) {
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  /** Looks at each stream on Linux; Java tells only whether input and output both are terminals. */
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
