package dev.sluice.internal.limits;

import dev.sluice.internal.bucket.BucketLevel;
import dev.sluice.internal.bucket.UnitScale;
import org.jspecify.annotations.Nullable;

/** A rule for all keys that begin alike, each of which gets its own bucket. */
final class LimitTemplate {
  final String prefix;
  final UnitScale scale;

  /** The level of a key before it is used; null if full. */
  final @Nullable BucketLevel unused;

  /** True once the templates that replace it have been published. */
  private volatile boolean retired;

  LimitTemplate(String prefix, UnitScale scale, @Nullable BucketLevel unused) {
    this.prefix = prefix;
    this.scale = scale;
    this.unused = unused;
  }

  /** Returns the same template, not retired. */
  LimitTemplate renewed() {
    return new LimitTemplate(prefix, scale, unused);
  }

  /** Returns whether some of its keys may now have another limit. */
  boolean isRetired() {
    return retired;
  }

  void retire() {
    retired = true;
  }
}
