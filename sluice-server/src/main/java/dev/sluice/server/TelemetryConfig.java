package dev.sluice.server;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Where traces go.
 *
 * @param endpoint an OTLP collector that takes HTTP, such as {@code http://localhost:4318}; null
 *     for no traces
 * @param serviceName what traces call this server
 * @since 0.1
 */
public record TelemetryConfig(@Nullable URI endpoint, String serviceName) {
  /** No traces. */
  public static final TelemetryConfig NONE = new TelemetryConfig(null, "sluice");
}
