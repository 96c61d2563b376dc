package dev.sluice.server.telemetry;

import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.redis.RedisUnavailableException;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metrics of models as of the last {@link #update}. If the store does not answer, the metrics keep
 * their previous values.
 */
final class GovernorMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(GovernorMetrics.class);
  private static final String MODEL = "model";

  private final MeterRegistry registry;
  private final Supplier<GovernorStatus> status;
  private final Map<String, ToDoubleFunction<GovernorStatus.Model>> gauges =
      Map.of(
          "token.bucket.available",
          GovernorStatus.Model::available,
          "token.bucket.capacity",
          GovernorStatus.Model::capacity,
          "token.bucket.running",
          GovernorStatus.Model::running,
          "token.bucket.audit.error.tokens",
          each -> each.audit().errorTokens(),
          "token.bucket.provider.factor",
          each -> each.provider().factor(),
          "token.bucket.provider.drift.tokens",
          each -> each.provider().driftTokens());
  private final Map<String, MultiGauge> shown = new HashMap<>();
  private final MultiGauge lines;
  private final MultiGauge alerts;
  private final Map<String, ModelCounters> counters = new HashMap<>();

  GovernorMetrics(MeterRegistry registry, Supplier<GovernorStatus> status) {
    this.registry = registry;
    this.status = status;
    gauges.keySet().forEach(name -> shown.put(name, gauge(name)));
    this.lines = gauge("token.bucket.queue.length");
    this.alerts = gauge("token.bucket.alert");
  }

  private MultiGauge gauge(String name) {
    return MultiGauge.builder(name).register(registry);
  }

  /** Counters never decrease: later grants make up for refunds. */
  private static final class ModelCounters {
    final List<Meter> meters = new ArrayList<>();
    private volatile GovernorStatus.Model now;
    private volatile long consumed;

    ModelCounters(MeterRegistry registry, GovernorStatus.Model first) {
      this.now = first;
      this.consumed = first.counts().tokensConsumed();
      count(registry, "token.bucket.accepted.requests", at -> at.counts().acceptedRequests());
      count(registry, "token.bucket.rejected.requests", at -> at.counts().rejectedRequests());
      count(registry, "token.bucket.refills", at -> at.counts().refillCount());
      count(registry, "token.bucket.provider.throttled", at -> at.provider().throttled());
      count(registry, "token.bucket.settled.excess.tokens", at -> at.audit().excessTokens());
      count(registry, "token.bucket.tokens.consumed", at -> consumed);
    }

    private void count(
        MeterRegistry registry, String name, ToDoubleFunction<GovernorStatus.Model> value) {
      meters.add(
          FunctionCounter.builder(name, this, self -> value.applyAsDouble(self.now))
              .tag(MODEL, now.model())
              .register(registry));
    }

    void update(GovernorStatus.Model next) {
      now = next;
      consumed = Math.max(consumed, next.counts().tokensConsumed());
    }
  }

  /** Called by one thread at a time. */
  void update() {
    GovernorStatus now;
    try {
      now = status.get();
    } catch (StoreClosedException | RedisUnavailableException away) {
      LOG.debug("the status of the models is unknown", away);
      return;
    }
    show(now.models());
  }

  private void show(Map<String, GovernorStatus.Model> models) {
    gauges.forEach((name, value) -> show(name, models, value));
    List<MultiGauge.Row<?>> waiting = new ArrayList<>();
    List<MultiGauge.Row<?>> warnings = new ArrayList<>();
    for (GovernorStatus.Model each : models.values()) {
      Tags tags = Tags.of(MODEL, each.model());
      each.queueLengths()
          .forEach(
              (name, length) ->
                  waiting.add(MultiGauge.Row.of(tags.and("priority_class", name), length)));
      for (GovernorStatus.Alert.Kind kind : GovernorStatus.Alert.Kind.values()) {
        boolean on = each.alerts().stream().anyMatch(alert -> alert.kind() == kind);
        String word = kind.name().toLowerCase(Locale.ROOT);
        warnings.add(MultiGauge.Row.of(tags.and("kind", word), on ? 1 : 0));
      }
      counters
          .computeIfAbsent(each.model(), name -> new ModelCounters(registry, each))
          .update(each);
    }
    lines.register(waiting, true);
    alerts.register(warnings, true);
    forgetOthers(models);
  }

  private void show(
      String name,
      Map<String, GovernorStatus.Model> models,
      ToDoubleFunction<GovernorStatus.Model> value) {
    List<MultiGauge.Row<?>> rows = new ArrayList<>();
    models.forEach(
        (model, at) -> rows.add(MultiGauge.Row.of(Tags.of(MODEL, model), value.applyAsDouble(at))));
    MultiGauge gauge = shown.get(name);
    if (gauge != null) {
      gauge.register(rows, true);
    }
  }

  /** Removes the meters of models that a reload has removed. */
  private void forgetOthers(Map<String, GovernorStatus.Model> present) {
    counters
        .entrySet()
        .removeIf(
            each -> {
              boolean gone = !present.containsKey(each.getKey());
              if (gone) {
                each.getValue().meters.forEach(registry::remove);
              }
              return gone;
            });
  }
}
