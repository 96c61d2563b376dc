package dev.sluice.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Predicate;

/** Heap that a million keys take beyond their strings, measured in a JVM of its own. */
final class KeyBytes {
  private static final int KEYS = 1_000_000;

  /** No bucket is full again before the measurement ends, so none may be evicted. */
  private static final Duration LONG = Duration.ofSeconds(10_000);

  private KeyBytes() {}

  /** Bytes per key of {@code kind}. */
  static double measure(KeyedKind kind) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx2g",
                "-XX:+UseSerialGC",
                "-XX:+UseCompressedOops",
                "-cp",
                System.getProperty("java.class.path"),
                KeyBytes.class.getName(),
                kind.name())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IllegalStateException("no figure for " + kind + ": " + output);
    }
    return Double.parseDouble(output.strip());
  }

  public static void main(String[] args) {
    KeyedKind kind = KeyedKind.valueOf(args[0]);
    String[] keys = new String[KEYS];
    for (int i = 0; i < KEYS; i++) {
      keys[i] = "tenant:" + i;
    }
    // What the first call loads is not the keys'.
    use(kind.create(1, LONG), "tenant:warm");
    long before = usedBytes();
    Predicate<String> limiter = kind.create(1, LONG);
    try {
      use(limiter, keys);
      System.out.println((usedBytes() - before) / (double) KEYS);
    } finally {
      Reference.reachabilityFence(limiter);
      Reference.reachabilityFence(keys);
    }
  }

  private static void use(Predicate<String> limiter, String... keys) {
    for (String key : keys) {
      if (!limiter.test(key)) {
        throw new IllegalStateException("denied: " + key);
      }
    }
  }

  private static long usedBytes() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
