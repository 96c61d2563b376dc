package dev.sluice.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The resources that a JVM holds, read from {@code /proc}.
 *
 * @param heapBytes live objects, after a full collection
 * @param residentBytes memory of the process
 * @param files open file descriptors
 */
record Footprint(long heapBytes, long residentBytes, int threads, int files) {
  static Footprint of(Process process) throws IOException, InterruptedException {
    Path proc = Path.of("/proc", Long.toString(process.pid()));
    return new Footprint(
        liveBytes(process.pid()),
        1024 * number(proc, "VmRSS:"),
        (int) number(proc, "Threads:"),
        entries(proc.resolve("fd")));
  }

  /** The total of a histogram, which collects all garbage before it counts. */
  private static long liveBytes(long pid) throws IOException, InterruptedException {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    Process histogram =
        new ProcessBuilder(jcmd.toString(), Long.toString(pid), "GC.class_histogram")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    List<String> lines = histogram.inputReader().lines().toList();
    histogram.waitFor();
    return lines.stream()
        .filter(line -> line.startsWith("Total"))
        .mapToLong(line -> Long.parseLong(line.trim().split("\\s+", -1)[2]))
        .findFirst()
        .orElseThrow(() -> new IOException("jcmd printed no histogram: " + lines));
  }

  private static long number(Path proc, String field) throws IOException {
    return Files.readAllLines(proc.resolve("status")).stream()
        .filter(line -> line.startsWith(field))
        .mapToLong(line -> Long.parseLong(line.split("\\s+", -1)[1]))
        .findFirst()
        .orElseThrow(() -> new IOException("no " + field + " in " + proc));
  }

  private static int entries(Path folder) throws IOException {
    try (Stream<Path> each = Files.list(folder)) {
      return (int) each.count();
    }
  }
}
