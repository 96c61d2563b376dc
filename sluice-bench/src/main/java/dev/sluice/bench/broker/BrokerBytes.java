package dev.sluice.bench.broker;

import dev.sluice.bench.measure.HeapProbe;
import dev.sluice.broker.Durability;
import java.lang.ref.Reference;
import java.nio.file.Path;

/**
 * Heap that a pending message of 1 KB takes, whose payload is on the disk, and the MB that a broker
 * takes at once however many are pending. Ends without closing the broker, as a crash does, and
 * leaves its folder for {@link BrokerRecovery}.
 */
final class BrokerBytes {
  private static final int KEYS = 1_000;
  private static final int WARM_UP = 10_000;

  /** With so many pending, every structure that a broker allocates once exists. */
  private static final int FIRST = 30_000;

  private BrokerBytes() {}

  public static void main(String[] args) {
    HeapProbe.answer(() -> measure(Path.of(args[0]), Long.parseLong(args[1])));
  }

  @SuppressWarnings("resource") // that is the point
  private static double[] measure(Path folder, long messages) throws InterruptedException {
    BrokerRig rig = new BrokerRig(folder, BrokerRig.queue(Durability.OS));
    try {
      BrokerLoad.Shape shape = BrokerLoad.Shape.BATCHES;
      BrokerLoad load = new BrokerLoad(rig, BrokerLoad.messages(KEYS, shape.batch()), shape);
      load.fill(WARM_UP);
      load.purge();
      long empty = HeapProbe.usedBytes();
      load.fill(FIRST);
      long first = HeapProbe.usedBytes();
      load.fill(messages - FIRST);
      double each = (HeapProbe.usedBytes() - first) / (double) (messages - FIRST);
      return new double[] {each, (first - empty - FIRST * each) / 1e6};
    } finally {
      Reference.reachabilityFence(rig);
    }
  }
}
