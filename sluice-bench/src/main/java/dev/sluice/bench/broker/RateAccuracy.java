package dev.sluice.bench.broker;

import dev.sluice.Limit;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Durability;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.QueueConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The real delivery rate of a throttle key with a backlog and an idle consumer. The time of a
 * delivery is the end of its lease less the lease timeout.
 */
final class RateAccuracy {
  private static final int PER_SECOND = 1_000;
  private static final Duration LEASE = Duration.ofMinutes(5);

  private RateAccuracy() {}

  /** Messages delivered, in percent of rate times time plus burst; never above, in any window. */
  static double percent(Path folder, int burst, Duration time) throws InterruptedException {
    QueueConfig queue = BrokerRig.queue(Durability.ALWAYS).toBuilder().leaseTimeout(LEASE).build();
    try (BrokerRig rig = new BrokerRig(folder, queue)) {
      rig.broker.setLimit(BrokerRig.throttle(0), Limit.ofRate(PER_SECOND, burst));
      int backlog = (int) (PER_SECOND * time.toSeconds() * 2) + burst;
      BrokerLoad.Shape shape = BrokerLoad.Shape.BATCHES;
      BrokerLoad load =
          new BrokerLoad(
              rig,
              BrokerRig.batches(
                  shape.batch(),
                  shape.batch(),
                  i -> BrokerRig.message(i).withThrottleKeys(BrokerRig.throttle(0))),
              shape);
      load.fill(backlog);
      List<Long> moments = deliver(rig.broker, time);
      requireBound(moments, burst);
      long first = moments.get(0);
      long within = moments.stream().filter(at -> at - first <= time.toNanos()).count();
      return 100 * within / (PER_SECOND * (time.toNanos() / 1e9) + burst);
    }
  }

  private static List<Long> deliver(Broker broker, Duration time) throws InterruptedException {
    List<Long> moments = new ArrayList<>();
    try (MessageConsumer consumer = broker.consume(BrokerRig.QUEUE, 10_000)) {
      do {
        List<Delivery> deliveries = consumer.poll(1_000, Duration.ofSeconds(5));
        if (deliveries.isEmpty()) {
          throw new IllegalStateException("nothing was delivered for 5 s");
        }
        deliveries.forEach(each -> moments.add(nanos(each.leaseEndsAt())));
        var unused = broker.ackAll(deliveries);
      } while (moments.get(moments.size() - 1) - moments.get(0) <= time.toNanos());
    }
    return moments;
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  /** Between any two deliveries there are no more than rate times time plus burst. */
  private static void requireBound(List<Long> moments, int burst) {
    double lowest = Double.POSITIVE_INFINITY;
    long first = moments.get(0);
    for (int i = 0; i < moments.size(); i++) {
      double ahead = i - (moments.get(i) - first) * (PER_SECOND / 1e9);
      lowest = Math.min(lowest, ahead);
      if (ahead - lowest + 1 > burst + 1e-6) {
        throw new IllegalStateException(
            "more than the rate allows: delivered=%d, excess=%.3f, burst=%d"
                .formatted(i + 1, ahead - lowest + 1 - burst, burst));
      }
    }
  }
}
