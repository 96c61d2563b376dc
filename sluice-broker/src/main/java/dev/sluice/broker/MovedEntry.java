package dev.sluice.broker;

import java.util.UUID;

/**
 * A message that has moved: a dead letter, or one that was redriven. It is stored under a new
 * number, as each number is stored once, but keeps the id that its producer was told.
 */
final class MovedEntry extends Entry {
  /** The estimated heap of the id and of its place in the index, besides that of an entry. */
  static final long ID_HEAP_BYTES = 120;

  private final UUID id;

  MovedEntry(Line line, long sequence, Route route, int bytes, long expiresAt, UUID id) {
    super(line, sequence, route, bytes, expiresAt);
    this.id = id;
  }

  @Override
  UUID id() {
    return id;
  }
}
