package dev.sluice.bench.measure;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/** Runs a program that measures itself, its heap above all, in a JVM of its own. */
public final class HeapProbe {
  private HeapProbe() {}

  /** The one number that {@code main} prints. */
  public static double measure(Class<?> main, String... arguments)
      throws IOException, InterruptedException {
    return figures(main, arguments)[0];
  }

  /** The numbers that {@code main} prints. */
  public static double[] figures(Class<?> main, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx2g", "-XX:+UseSerialGC", "-XX:+UseCompressedOops"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IllegalStateException("no figure for " + List.of(arguments) + ": " + output);
    }
    return Stream.of(output.strip().split("\\s+")).mapToDouble(Double::parseDouble).toArray();
  }

  /** For such a program: prints the numbers, then ends at once, as a crash does. */
  @SuppressWarnings("CatchAndPrintStackTrace") // the parent process shows it
  public static void answer(Callable<double[]> figures) {
    int status = 1;
    try {
      DoubleStream.of(figures.call()).forEach(System.out::println);
      System.out.flush();
      status = 0;
    } catch (Throwable thrown) {
      thrown.printStackTrace();
    } finally {
      Runtime.getRuntime().halt(status);
    }
  }

  /** Heap in use after a garbage collection. */
  public static long usedBytes() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
