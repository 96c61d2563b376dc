package dev.sluice.bench;

import dev.sluice.broker.Broker;
import java.nio.file.Path;

/** How long a broker takes to open what {@link BrokerBytes} left, in a JVM that just started. */
final class BrokerRecovery {
  private BrokerRecovery() {}

  public static void main(String[] args) {
    long messages = Long.parseLong(args[1]);
    long from = System.nanoTime();
    try (Broker broker = Broker.open(Path.of(args[0]))) {
      double seconds = (System.nanoTime() - from) / 1e9;
      long depth = broker.stats(BrokerRig.QUEUE).depth();
      if (depth != messages) {
        throw new IllegalStateException("depth=" + depth + ", expected=" + messages);
      }
      System.out.println(seconds);
    }
  }
}
