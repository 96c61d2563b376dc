package dev.sluice.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts this Java as {@code ./sluice} does: without the warnings of newer ones. */
final class JavaCommand {
  private static final int WARNS_SINCE = 24;

  private JavaCommand() {}

  static List<String> begin() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // Short runs: what it costs to compile well does not come back.
    command.add("-XX:TieredStopAtLevel=1");
    if (Runtime.version().feature() >= WARNS_SINCE) {
      command.add("--enable-native-access=ALL-UNNAMED");
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    return command;
  }
}
