package dev.sluice.server.telemetry;

import dev.sluice.server.TelemetryConfig;
import dev.sluice.server.support.BuildVersion;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Traces of calls, for a collector that speaks OTLP over HTTP. They are sent in batches by a thread
 * of their own; while the collector does not take them, the oldest wait and further ones are lost.
 */
public final class Tracing implements AutoCloseable {
  /** No traces, and nothing done for them. */
  public static final Tracing OFF = new Tracing(null);

  private static final String PATH = "/v1/traces";
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** Callers choose paths, and spans wait in memory while the collector is slow. */
  private static final SpanLimits LIMITS =
      SpanLimits.builder().setMaxAttributeValueLength(1_024).build();

  /** The longest time to send the last spans when the server closes, in seconds. */
  private static final long FLUSH_SECONDS = 3;

  private final @Nullable SdkTracerProvider provider;

  private Tracing(@Nullable SdkTracerProvider provider) {
    this.provider = provider;
  }

  public static Tracing of(TelemetryConfig telemetry) {
    URI endpoint = telemetry.endpoint();
    if (endpoint == null) {
      return OFF;
    }
    OtlpHttpSpanExporter exporter =
        OtlpHttpSpanExporter.builder()
            .setEndpoint(endpoint.toString().replaceAll("/+$", "") + PATH)
            .setConnectTimeout(CONNECT_TIMEOUT)
            .setTimeout(TIMEOUT)
            .setComponentLoader(JdkTraceSender.LOADER)
            .build();
    Attributes names =
        Attributes.of(
            AttributeKey.stringKey("service.name"),
            telemetry.serviceName(),
            AttributeKey.stringKey("service.version"),
            BuildVersion.number());
    return new Tracing(
        SdkTracerProvider.builder()
            .setResource(Resource.getDefault().merge(Resource.create(names)))
            .setSpanLimits(LIMITS)
            .addSpanProcessor(BatchSpanProcessor.builder(exporter).build())
            .build());
  }

  /** Returns the source of spans; null without traces. */
  public @Nullable Tracer tracer() {
    return provider == null ? null : provider.get("dev.sluice.server", BuildVersion.number());
  }

  /** Sends the remaining spans. */
  @Override
  public void close() {
    if (provider != null) {
      provider.shutdown().join(FLUSH_SECONDS, TimeUnit.SECONDS);
    }
  }
}
