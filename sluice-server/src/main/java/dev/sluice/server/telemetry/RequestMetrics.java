package dev.sluice.server.telemetry;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts calls of both protocols: requests with their duration, and streams without one, because
 * clients decide how long they last. Methods are those of the server; all unknown ones share {@link
 * #OTHER}.
 */
public final class RequestMetrics {
  public static final String OTHER = "other";

  private final MeterRegistry registry;

  RequestMetrics(MeterRegistry registry) {
    this.registry = registry;
  }

  /** The protocol of a request. */
  public enum Protocol {
    GRPC,
    HTTP;

    Tags tags() {
      return Tags.of("protocol", name().toLowerCase(Locale.ROOT));
    }
  }

  /** Returns the meters of a method; keep the result, because the lookup is slow. */
  public Method method(Protocol protocol, String name) {
    return new Method(protocol.tags().and("method", name));
  }

  /** The meters of a method. */
  public final class Method {
    private final Tags tags;
    private final Map<String, Timer> requests = new ConcurrentHashMap<>();
    private final Map<String, Counter> streams = new ConcurrentHashMap<>();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicBoolean shown = new AtomicBoolean();

    private Method(Tags tags) {
      this.tags = tags;
    }

    public void answered(String code, long nanos) {
      requests
          .computeIfAbsent(code, each -> registry.timer("sluice.requests", tags.and("code", each)))
          .record(nanos, TimeUnit.NANOSECONDS);
    }

    public void streamBegan() {
      open.incrementAndGet();
      if (shown.compareAndSet(false, true)) {
        Gauge.builder("sluice.streams.open", open, AtomicInteger::get)
            .tags(tags)
            .strongReference(true)
            .register(registry);
      }
    }

    /** Counts the end of a stream; {@code began} says whether it counts as open. */
    public void streamEnded(String code, boolean began) {
      if (began) {
        open.decrementAndGet();
      }
      streams
          .computeIfAbsent(
              code, each -> registry.counter("sluice.streams.ended", tags.and("code", each)))
          .increment();
    }
  }
}
