package dev.sluice.bench.broker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;

/**
 * Throughput of the disk without a broker: groups of messages appended to a file, each group synced
 * before the next is written.
 */
final class DiskProbe {
  private static final int[] GROUPS = {64, 256, 1_024, 4_096};

  private DiskProbe() {}

  /** Messages per second in groups of so many. */
  record Limit(double perSecond, int group) {}

  /** The best over all sizes of groups. */
  static Limit measure(Path file, Duration each) throws IOException {
    Limit best = new Limit(0, 0);
    for (int group : GROUPS) {
      double perSecond = append(file, group, each);
      if (perSecond > best.perSecond()) {
        best = new Limit(perSecond, group);
      }
    }
    return best;
  }

  private static double append(Path file, int group, Duration time) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocateDirect(group * BrokerRig.PAYLOAD_BYTES);
    for (int i = 0; i < group; i++) {
      bytes.put(BrokerRig.payload(i));
    }
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      long groups = 0;
      long from = System.nanoTime();
      long now = from;
      while (now - from < time.toNanos()) {
        bytes.rewind();
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        channel.force(false);
        groups++;
        now = System.nanoTime();
      }
      return groups * group * 1e9 / (now - from);
    } finally {
      Files.deleteIfExists(file);
    }
  }
}
