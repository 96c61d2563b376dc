package dev.sluice.bench.broker;

import dev.sluice.bench.measure.Calm;
import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;

/**
 * Measures what {@code on_enqueue} costs: CPU time of the calling thread in {@code enqueueAll} on a
 * queue with a script, less that on one without, the same messages in turn, and the CPU time of the
 * broker's threads that run scripts. The broker's own timer around the script is reported beside
 * it.
 */
final class HookCost {
  /** Fairness by tenant, weight from the configuration, two throttle keys. */
  private static final String SCRIPT =
      """
      function on_enqueue(msg)
        local tenant = msg.headers["tenant"] or "none"
        local provider = msg.headers["provider"] or "none"
        local tier = msg.headers["tier"] or "free"
        return {
          fairness_key = tenant,
          weight = tonumber(sluice.get("weight." .. tier)) or 1,
          throttle_keys = { "provider:" .. provider, "tenant:" .. tenant .. ":" .. provider },
        }
      end
      """;

  private static final String SCRIPTED = "scripted";
  private static final int BATCH = 100;
  private static final int MESSAGES = 10_000;

  /** The compiler takes its time over an interpreter; warm-up messages have no payload. */
  private static final int WARM_UP = 150_000;

  private static final int MOST = 8;

  private static final int WINDOW = 20_000;
  private static final String HOOK_THREAD = "sluice-hooks";
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** Sums the hook metrics of the broker. */
  private static final class Watch implements BrokerMetrics {
    private final LongAdder count = new LongAdder();
    private final LongAdder sum = new LongAdder();
    private final LongAdder failed = new LongAdder();

    @Override
    public void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {
      count.increment();
      sum.add(nanos);
      if (outcome != HookOutcome.ANSWERED) {
        failed.increment();
      }
    }

    double microsPerCall() {
      if (failed.sum() > 0) {
        throw new IllegalStateException("scripts failed: " + failed.sum());
      }
      return sum.sum() / 1e3 / count.sum();
    }

    void reset() {
      count.reset();
      sum.reset();
    }
  }

  private final Broker broker;
  private final Semaphore window = new Semaphore(WINDOW);

  private HookCost(Broker broker) {
    this.broker = broker;
  }

  private static List<List<Message>> batches(IntFunction<Message> message) {
    return BrokerRig.batches(1_000, BATCH, i -> message.apply(i).withHeaders(headers(i)));
  }

  private static Map<String, String> headers(int i) {
    return Map.of("tenant", BrokerRig.key(i), "provider", "p" + i % 10, "tier", "t" + i % 3);
  }

  /** Microseconds a message: of CPU time of caller and hook threads, and by the broker's timer. */
  record Cost(double cpuMicros, double timerMicros) {}

  static Cost measure(Path folder) throws InterruptedException {
    Watch watch = new Watch();
    BrokerConfig config = BrokerConfig.builder().metrics(watch).build();
    var plain = BrokerRig.queue(Durability.OS);
    try (BrokerRig rig = new BrokerRig(folder, plain, config)) {
      rig.broker.createQueue(SCRIPTED, plain.toBuilder().onEnqueue(SCRIPT).build());
      rig.broker.setConfig("weight.t1", "2");
      HookCost cost = new HookCost(rig.broker);
      cost.difference(batches(i -> Message.of("")), WARM_UP);
      List<List<Message>> batches = batches(BrokerRig::message);
      Calm calm = new Calm(1, MOST);
      double nanos;
      do {
        watch.reset();
        nanos = cost.difference(batches, MESSAGES);
      } while (!calm.after(nanos));
      return new Cost(nanos / 1e3, watch.microsPerCall());
    }
  }

  private double difference(List<List<Message>> batches, int messages) throws InterruptedException {
    long scripts = hookThreadsNanos();
    long with = 0;
    long without = 0;
    for (int i = 0; i < messages / BATCH; i++) {
      List<Message> batch = batches.get(i % batches.size());
      without += cpuNanos(BrokerRig.QUEUE, batch);
      with += cpuNanos(SCRIPTED, batch);
    }
    window.acquire(WINDOW);
    window.release(WINDOW);
    long purged = broker.purgeQueue(BrokerRig.QUEUE) + broker.purgeQueue(SCRIPTED);
    if (purged != 2L * messages) {
      throw new IllegalStateException("purged=" + purged + ", expected=" + 2L * messages);
    }
    return (double) (with - without + hookThreadsNanos() - scripts) / messages;
  }

  /** CPU time of the threads that run scripts; they live as long as the broker. */
  private static long hookThreadsNanos() {
    long nanos = 0;
    for (ThreadInfo thread : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
      if (thread != null && thread.getThreadName().equals(HOOK_THREAD)) {
        nanos += Math.max(0, THREADS.getThreadCpuTime(thread.getThreadId()));
      }
    }
    return nanos;
  }

  private long cpuNanos(String queue, List<Message> batch) throws InterruptedException {
    window.acquire(BATCH);
    long from = THREADS.getCurrentThreadCpuTime();
    var sent = broker.enqueueAll(queue, batch);
    long nanos = THREADS.getCurrentThreadCpuTime() - from;
    // The window is less than what makes a broker busy, so a failure is one.
    var unused =
        sent.whenComplete(
            (ids, why) -> {
              if (why == null) {
                window.release(BATCH);
              }
            });
    return nanos;
  }
}
