package dev.sluice.bench.broker;

import dev.sluice.bench.measure.HeapProbe;
import dev.sluice.broker.Broker;
import java.nio.file.Path;

/**
 * How long a broker takes to open what {@link BrokerBytes} left, in a JVM that just started and
 * ends as that one did.
 */
final class BrokerRecovery {
  private BrokerRecovery() {}

  public static void main(String[] args) {
    HeapProbe.answer(() -> measure(Path.of(args[0]), Long.parseLong(args[1])));
  }

  @SuppressWarnings("resource") // that is the point
  private static double[] measure(Path folder, long messages) {
    long from = System.nanoTime();
    Broker broker = Broker.open(folder);
    double seconds = (System.nanoTime() - from) / 1e9;
    long depth = broker.stats(BrokerRig.QUEUE).depth();
    if (depth != messages) {
      throw new IllegalStateException("depth=" + depth + ", expected=" + messages);
    }
    return new double[] {seconds};
  }
}
