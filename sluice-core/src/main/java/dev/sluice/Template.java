package dev.sluice;

import org.jspecify.annotations.Nullable;

/** A rule for all keys that begin alike, each of which gets its own bucket. */
final class Template {
  final String prefix;
  final Scale scale;

  /** How its keys stand before they are used; null if full. */
  final @Nullable Standing unused;

  /** Set once, after the templates that replace it have been published. */
  private volatile boolean retired;

  Template(String prefix, Scale scale, @Nullable Standing unused) {
    this.prefix = prefix;
    this.scale = scale;
    this.unused = unused;
  }

  /** The same rule, which is not retired. */
  Template renewed() {
    return new Template(prefix, scale, unused);
  }

  /** Whether some of its keys may now have another rule. */
  boolean isRetired() {
    return retired;
  }

  void retire() {
    retired = true;
  }
}
