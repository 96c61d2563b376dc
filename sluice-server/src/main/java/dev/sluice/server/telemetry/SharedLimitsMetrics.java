package dev.sluice.server.telemetry;

import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.server.operations.SharedLimitBackend;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.ToDoubleFunction;

/** Meters of the limits shared through Redis; the registry holds them weakly. */
final class SharedLimitsMetrics {
  private static final String NAME = "sluice.limits.redis.";

  private final MeterRegistry registry;
  private final SharedLimitBackend limits;

  private SharedLimitsMetrics(MeterRegistry registry, SharedLimitBackend limits) {
    this.registry = registry;
    this.limits = limits;
  }

  static void register(MeterRegistry registry, SharedLimitBackend limits) {
    SharedLimitsMetrics meters = new SharedLimitsMetrics(registry, limits);
    meters.gauge("available", status -> status.available() ? 1 : 0);
    meters.gauge("nodes", SharedLimitsStatus::nodes);
    meters.path("redis", SharedLimitsStatus::fromRedis);
    meters.path("block", SharedLimitsStatus::fromBlocks);
    meters.path("open", SharedLimitsStatus::open);
    meters.path("closed", SharedLimitsStatus::closed);
    meters.path("local", SharedLimitsStatus::local);
    meters.counter("timeouts", SharedLimitsStatus::timeouts);
    meters.counter("outages", SharedLimitsStatus::outages);
  }

  private void gauge(String name, ToDoubleFunction<SharedLimitsStatus> value) {
    Gauge.builder(NAME + name, limits, each -> value.applyAsDouble(each.status()))
        .register(registry);
  }

  private void counter(String name, ToDoubleFunction<SharedLimitsStatus> value) {
    FunctionCounter.builder(NAME + name, limits, each -> value.applyAsDouble(each.status()))
        .register(registry);
  }

  /** Registers the counter of the decisions of one path. */
  private void path(String path, ToDoubleFunction<SharedLimitsStatus> value) {
    FunctionCounter.builder(NAME + "decisions", limits, each -> value.applyAsDouble(each.status()))
        .tag("path", path)
        .register(registry);
  }
}
