package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.internal.engine.Recovery;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Broker time: the wall clock at the start, from then on the time that has passed. */
final class BrokerClock {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private final long offset;

  private BrokerClock(long offset) {
    this.offset = offset;
  }

  /** Goes on from {@code brokerTime} at {@code bootNanos}. */
  static BrokerClock from(long brokerTime, long bootNanos) {
    return new BrokerClock(brokerTime - bootNanos);
  }

  long now() {
    return bootNanos() + offset;
  }

  /**
   * The reading of the machine's clock at {@code brokerTime}. A later reading beside it would let
   * broker time fall behind at every restart.
   */
  long bootNanosAt(long brokerTime) {
    return brokerTime - offset;
  }

  /** How long until {@code brokerTime}. */
  long nanosUntil(long brokerTime) {
    return brokerTime == Long.MAX_VALUE ? Long.MAX_VALUE : brokerTime - now();
  }

  /** Where a clock runs that counts since the machine started, and goes on over restarts. */
  private static long bootNanos() {
    return System.nanoTime();
  }

  static Recovery.Start start() {
    long wall = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
    return new Recovery.Start(wall, bootNanos(), bootId());
  }

  private static String bootId() {
    try {
      return Files.readString(BOOT_ID).trim();
    } catch (IOException notLinux) {
      return "";
    }
  }
}
