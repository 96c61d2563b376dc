package dev.sluice.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Runs a program that measures its own heap, in a JVM of its own. */
final class HeapProbe {
  private HeapProbe() {}

  /** The one number that {@code main} prints. */
  static double measure(Class<?> main, String argument) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx2g",
                "-XX:+UseSerialGC",
                "-XX:+UseCompressedOops",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                argument)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IllegalStateException("no figure for " + argument + ": " + output);
    }
    return Double.parseDouble(output.strip());
  }

  /** Heap in use after collecting what is not. */
  static long usedBytes() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
