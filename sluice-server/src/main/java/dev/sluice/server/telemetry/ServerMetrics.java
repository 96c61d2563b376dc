package dev.sluice.server.telemetry;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.QueueStats;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.server.operations.DecisionCounters;
import dev.sluice.server.operations.DecisionCounters.Outcome;
import dev.sluice.server.operations.GovernorOutageMonitor;
import dev.sluice.server.operations.SharedLimitBackend;
import dev.sluice.server.telemetry.RequestMetrics.Protocol;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of the server, most of them by queue. None is by fairness key, because the number of
 * these keys is unbounded. The next scrape drops the counters of a deleted queue.
 */
public final class ServerMetrics implements BrokerMetrics {
  private static final String QUEUE = "queue";

  private final PrometheusMeterRegistry registry = registry();
  private final Map<String, QueueMeters> queues = new ConcurrentHashMap<>();
  private final Counter unknownQueue = registry.counter("sluice.enqueue.unknown.queue");
  private final Counter facts = registry.counter("sluice.store.written.changes");
  private final Counter bytes = registry.counter("sluice.store.written.bytes");
  private final Timer writes = registry.timer("sluice.store.write");
  private final Timer syncs = registry.timer("sluice.store.sync");
  private final MultiGauge depth = MultiGauge.builder("sluice.queue.depth").register(registry);
  private final MultiGauge inFlight =
      MultiGauge.builder("sluice.queue.in.flight").register(registry);
  private final MultiGauge delayed = MultiGauge.builder("sluice.queue.delayed").register(registry);
  private final MultiGauge consumers =
      MultiGauge.builder("sluice.queue.consumers").register(registry);
  private final MultiGauge oldestReady =
      MultiGauge.builder("sluice.queue.oldest.ready.seconds").register(registry);

  private final AtomicInteger brokerAvailable =
      registry.gauge("sluice.broker.available", new AtomicInteger());

  private final RequestMetrics requests = new RequestMetrics(registry);

  private volatile @Nullable GovernorMetrics governor;

  public ServerMetrics() {
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
  }

  private static PrometheusMeterRegistry registry() {
    PrometheusMeterRegistry made = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    made.config().meterFilter(new MetricCatalog());
    return made;
  }

  public RequestMetrics requests() {
    return requests;
  }

  /** Shows the size of the data directory and the free space of its disk. */
  public void watch(DataDirectoryUsage space) {
    Gauge.builder("sluice.store.size.bytes", space, DataDirectoryUsage::usedBytes)
        .strongReference(true)
        .register(registry);
    Gauge.builder("sluice.disk.free.bytes", space, DataDirectoryUsage::freeBytes)
        .strongReference(true)
        .register(registry);
  }

  /** Shows how limits decide. */
  public void watch(DecisionCounters decisions) {
    for (Outcome outcome : Outcome.values()) {
      FunctionCounter.builder("sluice.limits.decisions", decisions, counts -> counts.of(outcome))
          .tag("outcome", word(outcome))
          .register(registry);
    }
  }

  /** Shows the state of shared limits. */
  public void watch(SharedLimitBackend limits) {
    SharedLimitsMetrics.register(registry, limits);
  }

  /** Shows whether budgets are shared. */
  public void watch(GovernorOutageMonitor outages) {
    Gauge.builder("sluice.governor.redis.available", outages, each -> each.available() ? 1 : 0)
        .register(registry);
    FunctionCounter.builder("sluice.governor.redis.outages", outages, each -> each.lost())
        .register(registry);
    FunctionCounter.builder("sluice.governor.redis.errors", outages, each -> each.refused())
        .register(registry);
  }

  /** Shows the state of models. */
  public void watch(Supplier<GovernorStatus> models) {
    governor = new GovernorMetrics(registry, models);
  }

  /** Shows how many connections are open. */
  public void watch(Protocol protocol, Supplier<Number> connections) {
    Gauge.builder("sluice.connections", connections).tags(protocol.tags()).register(registry);
  }

  /** The meters that each message of a queue updates, looked up once. */
  private final class QueueMeters {
    final Tags tags;
    final Counter enqueued;
    final Counter delivered;
    final Counter redelivered;
    final Timer held;

    QueueMeters(String queue) {
      this.tags = Tags.of(QUEUE, queue);
      this.enqueued = registry.counter("sluice.messages.enqueued", tags);
      this.delivered = registry.counter("sluice.messages.delivered", tags);
      this.redelivered = registry.counter("sluice.messages.redelivered", tags);
      this.held = registry.timer("sluice.messages.acked", tags);
    }

    Counter counter(String name, String tag, String value) {
      return registry.counter(name, tags.and(tag, value));
    }
  }

  private QueueMeters of(String queue) {
    return queues.computeIfAbsent(queue, QueueMeters::new);
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public void enqueued(String queue, String key) {
    of(queue).enqueued.increment();
  }

  @Override
  public void unknownThrottleKey(String queue) {
    registry.counter("sluice.messages.unknown.throttle.key", of(queue).tags).increment();
  }

  @Override
  public void rejected(String queue, BrokerException.Code why) {
    if (why == BrokerException.Code.QUEUE_NOT_FOUND) {
      // A caller can invent any number of queue names.
      unknownQueue.increment();
    } else {
      of(queue).counter("sluice.enqueue.rejected", "reason", word(why)).increment();
    }
  }

  @Override
  public void delivered(String queue, String key, int attempts) {
    QueueMeters meters = of(queue);
    meters.delivered.increment();
    if (attempts > 0) {
      meters.redelivered.increment();
    }
  }

  @Override
  public void acked(String queue, String key, long heldNanos) {
    of(queue).held.record(heldNanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void failed(String queue, String key, boolean expired) {
    of(queue).counter("sluice.messages.failed", "cause", expired ? "expired" : "nack").increment();
  }

  @Override
  public void deadLettered(String queue, String key, DeadLetter.Reason reason) {
    of(queue).counter("sluice.messages.dead.lettered", "reason", word(reason)).increment();
  }

  @Override
  public void redriven(String queue) {
    registry.counter("sluice.messages.redriven", of(queue).tags).increment();
  }

  @Override
  public void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {
    Tags tags = of(queue).tags.and("hook", word(hook), "outcome", word(outcome));
    registry.timer("sluice.hook", tags).record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void hookWaited(String queue, long nanos) {
    registry.timer("sluice.hook.wait", of(queue).tags).record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void written(int count, long size, long nanos) {
    facts.increment(count);
    bytes.increment((double) size);
    writes.record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void synced(long nanos) {
    syncs.record(nanos, TimeUnit.NANOSECONDS);
  }

  /** Returns all metrics in the format of Prometheus, with those of the {@code present} queues. */
  public synchronized String scrape(Map<String, QueueStats> present) {
    forgetOthers(present);
    show(depth, present, QueueStats::depth);
    show(inFlight, present, QueueStats::inFlight);
    show(delayed, present, QueueStats::delayed);
    show(consumers, present, QueueStats::consumers);
    show(oldestReady, present, each -> each.oldestReady().toSeconds());
    return scrape(true);
  }

  /**
   * Returns the metrics while the broker does not answer, with the last known state of its queues.
   */
  public synchronized String scrapeWithoutBroker() {
    return scrape(false);
  }

  private String scrape(boolean brokerAnswers) {
    brokerAvailable.set(brokerAnswers ? 1 : 0);
    GovernorMetrics models = governor;
    if (models != null) {
      models.update();
    }
    return registry.scrape();
  }

  private static void show(
      MultiGauge gauge, Map<String, QueueStats> present, ToDoubleFunction<QueueStats> value) {
    gauge.register(
        present.entrySet().stream()
            .map(
                each ->
                    MultiGauge.Row.of(
                        Tags.of(QUEUE, each.getKey()), value.applyAsDouble(each.getValue())))
            .toList(),
        true);
  }

  private void forgetOthers(Map<String, QueueStats> present) {
    if (queues.keySet().removeIf(queue -> !present.containsKey(queue))) {
      for (Meter meter : registry.getMeters()) {
        String queue = meter.getId().getTag(QUEUE);
        if (queue != null && !present.containsKey(queue)) {
          registry.remove(meter);
        }
      }
    }
  }
}
