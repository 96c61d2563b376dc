package dev.sluice.bench.broker;

import dev.sluice.bench.measure.HeapProbe;
import dev.sluice.bench.measure.ProcessCpu;
import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The cost of a broker in which nothing can be delivered: every fairness key has a message that
 * waits for its throttle key, and a consumer would take it.
 */
final class IdleCost {
  static final int KEYS = 100_000;

  /** So many keys wait for one rate. */
  static final int RATES = 1_000;

  /** The next token comes long after the measurement. */
  private static final double PER_SECOND = 0.001;

  /** Until files are compacted and garbage is collected. */
  private static final Duration CALM = Duration.ofSeconds(2);

  private IdleCost() {}

  /** CPU time of the whole process in percent of one core. */
  static double percent(Path folder, Duration time) throws Exception {
    try (BrokerRig rig = new BrokerRig(folder, BrokerRig.queue(Durability.OS))) {
      rig.setThrottles(RATES, PER_SECOND, 1);
      BrokerLoad.Shape shape = BrokerLoad.Shape.BATCHES;
      List<Message> messages = IntStream.range(0, KEYS).mapToObj(IdleCost::message).toList();
      BrokerLoad load =
          new BrokerLoad(rig, BrokerRig.batches(KEYS, shape.batch(), messages::get), shape);
      load.fill(KEYS);
      try (MessageConsumer consumer = rig.broker.consume(BrokerRig.QUEUE, 2 * KEYS)) {
        takeBursts(rig, consumer);
        HeapProbe.usedBytes();
        Thread.sleep(CALM.toMillis());
        long cpu = ProcessCpu.nanos();
        long from = System.nanoTime();
        Thread.sleep(time.toMillis());
        double percent = 100.0 * (ProcessCpu.nanos() - cpu) / (System.nanoTime() - from);
        rig.requireDepth(KEYS - RATES);
        return percent;
      }
    }
  }

  private static Message message(int i) {
    return BrokerRig.message(i)
        .withFairnessKey(BrokerRig.key(i))
        .withThrottleKeys(BrokerRig.throttle(i % RATES));
  }

  /** A rate starts with its burst: one message each. */
  private static void takeBursts(BrokerRig rig, MessageConsumer consumer) throws Exception {
    for (int taken = 0; taken < RATES; ) {
      var deliveries = consumer.poll(RATES, Duration.ofSeconds(10));
      if (deliveries.isEmpty()) {
        throw new IllegalStateException("too few were delivered: " + taken);
      }
      taken += deliveries.size();
      rig.broker.ackAll(deliveries).get();
    }
  }
}
