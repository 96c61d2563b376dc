package dev.sluice;

/** A rule for all keys that begin alike, each of which gets its own bucket. */
final class Template {
  final String prefix;
  final Scale scale;

  /** Set once, after the templates that replace it have been published. */
  private volatile boolean retired;

  Template(String prefix, Scale scale) {
    this.prefix = prefix;
    this.scale = scale;
  }

  /** Whether some of its keys may now have another rule. */
  boolean isRetired() {
    return retired;
  }

  void retire() {
    retired = true;
  }
}
