package dev.sluice.server.support;

import org.jspecify.annotations.Nullable;

/**
 * Bounds what a caller's trace context costs: spans wait in memory until the collector takes them.
 */
public final class TraceHeaders {
  /** W3C Trace Context asks for at least 512 characters of {@code tracestate}. */
  public static final int MAX_LENGTH = 512;

  private TraceHeaders() {}

  /** Returns {@code value}, or null if it is longer than {@link #MAX_LENGTH} characters. */
  public static @Nullable String bounded(@Nullable String value) {
    return value == null || value.length() > MAX_LENGTH ? null : value;
  }
}
