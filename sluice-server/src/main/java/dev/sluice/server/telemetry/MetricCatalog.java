package dev.sluice.server.telemetry;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Lists every metric of the server with its help text and, for timers, the bounds of its histogram.
 * A meter that is not listed is refused, so none is without a help text.
 *
 * <p>Bounds are few, because each is a line of every scrape for each set of labels: timers with a
 * label for the queue have the fewest.
 */
final class MetricCatalog implements MeterFilter {
  private static final double[] NO_BOUNDS = {};

  /** Bounds from a fast call to one that waits for messages. */
  private static final double[] CALL_SECONDS = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
  };

  /** Bounds from a disk with a battery-backed cache to a failing one. */
  private static final double[] DISK_SECONDS = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5
  };

  private static final double[] WORK_SECONDS = {0.01, 0.1, 1, 10, 60, 600};

  private static final double[] SCRIPT_SECONDS = {0.0001, 0.001, 0.01, 0.1, 1};

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Metric(String help, double[] boundSeconds) {}

  private final Map<String, Metric> metrics = new HashMap<>();

  MetricCatalog() {
    messages();
    queues();
    store();
    calls();
    limits();
    models();
  }

  private void messages() {
    add("sluice.messages.enqueued", "Messages that producers stored.");
    add("sluice.messages.delivered", "Deliveries to consumers, including redeliveries.");
    add("sluice.messages.redelivered", "Deliveries of messages that had failed before.");
    add("sluice.messages.acked", "Time from a delivery to its acknowledgement.", WORK_SECONDS);
    add("sluice.messages.failed", "Deliveries that failed: by a nack, or because a lease expired.");
    add("sluice.messages.dead.lettered", "Messages that became dead letters, by reason.");
    add(
        "sluice.messages.unknown.throttle.key",
        "Stored messages that name a throttle key without a limit, which delays none of them.");
    add("sluice.messages.redriven", "Dead letters that were moved back to their queue.");
    add("sluice.enqueue.rejected", "Rejected calls to enqueue, by reason.");
    add("sluice.enqueue.unknown.queue", "Calls to enqueue to a queue that does not exist.");
    add("sluice.hook", "Run time of Lua hooks, by hook and outcome.", SCRIPT_SECONDS);
    add("sluice.hook.wait", "Time that calls waited for a thread to run hooks.", SCRIPT_SECONDS);
  }

  private void queues() {
    add("sluice.queue.depth", "Messages in the queue, whatever they wait for.");
    add("sluice.queue.in.flight", "Messages that are leased to consumers.");
    add("sluice.queue.delayed", "Messages whose delay has not ended.");
    add("sluice.queue.consumers", "Consumers of the queue.");
    add(
        "sluice.queue.oldest.ready.seconds",
        "Age of the oldest message that could be delivered, since it was stored or its delay ended;"
            + " 0 without one.");
  }

  private void store() {
    add("sluice.store.written.changes", "Changes written to the log of the store.");
    add("sluice.store.written.bytes", "Bytes written to the log of the store.");
    add("sluice.store.write", "Time to hand a batch to the operating system.", DISK_SECONDS);
    add("sluice.store.sync", "Time to sync the disk.", DISK_SECONDS);
    add("sluice.store.size.bytes", "Size of all files in the data directory.");
    add("sluice.disk.free.bytes", "Free space on the disk of the data directory.");
    add(
        "sluice.broker.available",
        "1 while queues answer, 0 while the disk is full or has failed.");
  }

  private void calls() {
    add("sluice.requests", "Time to answer a call, including the time it waits.", CALL_SECONDS);
    add("sluice.streams.open", "Open streams.");
    add("sluice.streams.ended", "Streams that have ended.");
    add("sluice.connections", "Open connections.");
  }

  private void limits() {
    add("sluice.limits.decisions", "Decisions on limits, by outcome.");
    add("sluice.limits.redis.available", "1 while limits are decided in Redis, 0 in an outage.");
    add("sluice.limits.redis.nodes", "Servers that share the limits.");
    add("sluice.limits.redis.decisions", "Decisions on shared limits, by path.");
    add("sluice.limits.redis.timeouts", "Calls that Redis did not answer in time.");
    add("sluice.limits.redis.outages", "Outages of Redis, as the limits saw them.");
    add("sluice.governor.redis.available", "1 while budgets are shared through Redis, else 0.");
    add("sluice.governor.redis.outages", "Outages of Redis, as the governor saw them.");
    add("sluice.governor.redis.errors", "Errors that Redis answered to the governor.");
  }

  private void models() {
    add("token.bucket.capacity", "Token capacity of the model.");
    add("token.bucket.available", "Available tokens of the model; negative after overuse.");
    add("token.bucket.accepted.requests", "Requests that were granted at once.");
    add("token.bucket.rejected.requests", "Requests that were queued, denied or impossible.");
    add("token.bucket.queue.length", "Requests that wait for tokens, by priority class.");
    add("token.bucket.tokens.consumed", "Granted tokens, less refunds.");
    add("token.bucket.refills", "Decisions that found new tokens.");
    add("token.bucket.running", "Reservations that are not settled.");
    add("token.bucket.audit.error.tokens", "Excess over the limit in the worst window; always 0.");
    add("token.bucket.settled.excess.tokens", "Reported tokens that were not charged.");
    add("token.bucket.provider.factor", "Share of the configured rate that the provider accepts.");
    add("token.bucket.provider.drift.tokens", "Level of the model less the provider's own.");
    add(
        "token.bucket.provider.throttled",
        "Responses of the provider that said there were too many requests.");
    add("token.bucket.alert", "1 while the alert is on, by kind.");
  }

  private void add(String name, String help, double... boundSeconds) {
    metrics.put(name, new Metric(help, boundSeconds));
  }

  private void add(String name, String help) {
    add(name, help, NO_BOUNDS);
  }

  private static boolean isOurs(Meter.Id id) {
    return id.getName().startsWith("sluice.") || id.getName().startsWith("token.bucket.");
  }

  private Metric require(Meter.Id id) {
    Metric metric = metrics.get(id.getName());
    if (metric == null) {
      throw new IllegalStateException("the metric is not in the catalog: " + id.getName());
    }
    return metric;
  }

  @Override
  public Meter.Id map(Meter.Id id) {
    return isOurs(id)
        ? new Meter.Id(
            id.getName(), Tags.of(id.getTags()), id.getBaseUnit(), require(id).help, id.getType())
        : id;
  }

  @Override
  public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
    if (!isOurs(id) || require(id).boundSeconds.length == 0) {
      return config;
    }
    return DistributionStatisticConfig.builder()
        .serviceLevelObjectives(
            Arrays.stream(require(id).boundSeconds)
                .map(seconds -> seconds * Duration.ofSeconds(1).toNanos())
                .toArray())
        .build()
        .merge(config);
  }
}
