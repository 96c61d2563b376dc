package dev.sluice.server;

import dev.sluice.redis.LimitsStatus;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.ToDoubleFunction;

/** How limits stand that are shared through Redis; the registry holds them weakly. */
final class RedisMeters {
  private static final String NAME = "sluice.limits.redis.";

  private final MeterRegistry registry;
  private final FleetLimits limits;

  private RedisMeters(MeterRegistry registry, FleetLimits limits) {
    this.registry = registry;
    this.limits = limits;
  }

  static void register(MeterRegistry registry, FleetLimits limits) {
    RedisMeters meters = new RedisMeters(registry, limits);
    meters.gauge("available", status -> status.available() ? 1 : 0);
    meters.gauge("nodes", LimitsStatus::nodes);
    meters.path("exact", LimitsStatus::exact);
    meters.path("leased", LimitsStatus::leased);
    meters.path("open", LimitsStatus::open);
    meters.path("closed", LimitsStatus::closed);
    meters.path("local", LimitsStatus::local);
    meters.counter("timeouts", LimitsStatus::timeouts);
    meters.counter("outages", LimitsStatus::outages);
  }

  private void gauge(String name, ToDoubleFunction<LimitsStatus> value) {
    Gauge.builder(NAME + name, limits, each -> value.applyAsDouble(each.status()))
        .register(registry);
  }

  private void counter(String name, ToDoubleFunction<LimitsStatus> value) {
    FunctionCounter.builder(NAME + name, limits, each -> value.applyAsDouble(each.status()))
        .register(registry);
  }

  /** By whom decisions were made. */
  private void path(String path, ToDoubleFunction<LimitsStatus> value) {
    FunctionCounter.builder(NAME + "decisions", limits, each -> value.applyAsDouble(each.status()))
        .tag("path", path)
        .register(registry);
  }
}
