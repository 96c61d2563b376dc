package dev.sluice.internal.limits;

import dev.sluice.internal.bucket.BucketLevel;
import dev.sluice.internal.bucket.UnitScale;
import org.jspecify.annotations.Nullable;

/** A rule for all keys that begin alike, each of which gets its own bucket. */
final class LimitTemplate {
  final String prefix;
  final UnitScale scale;

  /** How its keys stand before they are used; null if full. */
  final @Nullable BucketLevel unused;

  /** Set once, after the templates that replace it have been published. */
  private volatile boolean retired;

  LimitTemplate(String prefix, UnitScale scale, @Nullable BucketLevel unused) {
    this.prefix = prefix;
    this.scale = scale;
    this.unused = unused;
  }

  /** The same rule, which is not retired. */
  LimitTemplate renewed() {
    return new LimitTemplate(prefix, scale, unused);
  }

  /** Whether some of its keys may now have another rule. */
  boolean isRetired() {
    return retired;
  }

  void retire() {
    retired = true;
  }
}
