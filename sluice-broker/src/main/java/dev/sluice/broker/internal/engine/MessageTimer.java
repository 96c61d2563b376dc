package dev.sluice.broker.internal.engine;

/** A message may go, or is given up. */
final class MessageTimer extends EngineTimer {
  final MessageEntry entry;

  /** When it may go. */
  final long availableAt;

  MessageTimer(MessageEntry entry, long availableAt) {
    this.entry = entry;
    this.availableAt = availableAt;
  }
}
