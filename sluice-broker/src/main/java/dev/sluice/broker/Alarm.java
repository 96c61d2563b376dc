package dev.sluice.broker;

/** A message may go, or is given up. */
final class Alarm extends Timer {
  final Entry entry;

  /** When it may go. */
  final long availableAt;

  Alarm(Entry entry, long availableAt) {
    this.entry = entry;
    this.availableAt = availableAt;
  }
}
