package dev.sluice.server.transport;

import java.time.Duration;

/**
 * Limits how slowly a request may arrive: any pace for {@code grace}, then an average of at least
 * {@code bytesPerSecond}. A sender that stalls is cut off; one on a slow link is not.
 *
 * @param grace the time from the start of the request in which any pace is allowed
 * @param bytesPerSecond the least average rate after that
 */
public record MinimumTransferRate(Duration grace, long bytesPerSecond) {
  /** 10 s, then 32 KiB/s: 24 MiB may take 13 minutes. */
  public static final MinimumTransferRate DEFAULT =
      new MinimumTransferRate(Duration.ofSeconds(10), 32 << 10);

  private static final long SECOND = 1_000_000_000L;

  /** Returns how long a request may have taken of which {@code bytes} have arrived. */
  public long allowedNanos(long bytes) {
    // At most 1 GiB a request: no overflow.
    return grace.toNanos() + bytes * SECOND / bytesPerSecond;
  }

  public boolean isTooSlow(long nanos, long bytes) {
    return nanos > allowedNanos(bytes);
  }

  /** Returns the message to a sender that is too slow. */
  public String rule() {
    return "a request must arrive within %d s, or at %d KiB/s or more after that"
        .formatted(grace.toSeconds(), bytesPerSecond >> 10);
  }
}
