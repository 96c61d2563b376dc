package dev.sluice.bench.core;

import dev.sluice.bench.measure.HeapProbe;
import java.io.IOException;
import java.lang.ref.Reference;
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
    return HeapProbe.measure(KeyBytes.class, kind.name());
  }

  public static void main(String[] args) {
    KeyedKind kind = KeyedKind.valueOf(args[0]);
    String[] keys = new String[KEYS];
    for (int i = 0; i < KEYS; i++) {
      keys[i] = "tenant:" + i;
    }
    // Classes loaded by the first call do not count for the keys.
    use(kind.create(1, LONG), "tenant:warm");
    long before = HeapProbe.usedBytes();
    Predicate<String> limiter = kind.create(1, LONG);
    try {
      use(limiter, keys);
      System.out.println((HeapProbe.usedBytes() - before) / (double) KEYS);
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
}
