package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.testkit.JavaProcess;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a process of its own. */
final class ChildJvm {
  private ChildJvm() {}

  /** A process whose standard error and settings of the log are ours. */
  static Process start(List<String> prefix, Class<?> main, String... arguments) throws IOException {
    return start(prefix, "-Xmx1g", main, arguments);
  }

  /** The same, with a heap such as {@code -Xmx64m}. */
  static Process start(List<String> prefix, String heap, Class<?> main, String... arguments)
      throws IOException {
    List<String> flags = new ArrayList<>(List.of(heap, "-XX:+UseSerialGC"));
    String logging = System.getProperty("java.util.logging.config.file");
    if (logging != null) {
      flags.add("-Djava.util.logging.config.file=" + logging);
    }
    List<String> command = new ArrayList<>(prefix);
    command.addAll(JavaProcess.command(flags, main, List.of(arguments)));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** Returns the lines that a process printed, after it has exited without an error. */
  static List<String> output(Process process) throws IOException, InterruptedException {
    try {
      List<String> lines =
          new String(process.getInputStream().readAllBytes(), UTF_8).lines().toList();
      if (!process.waitFor(30, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new AssertionError("a child process failed: " + process.info() + ": " + lines);
      }
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }
}
