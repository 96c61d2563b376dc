package dev.sluice.governor;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A place in line, until somebody has learnt what came of it. Guarded by its desk. */
final class TicketState {
  final String id;
  final TokenRequest request;
  final Waiting waiting;
  final CompletableFuture<Outcome> outcome = new CompletableFuture<>();

  /** When whoever holds it was last seen. */
  long seenAt;

  /** Somebody waits for the future, and need not be seen. */
  boolean attended;

  /** What came of it; null while it is in line. */
  @Nullable Outcome decided;

  TicketState(String id, TokenRequest request, Waiting waiting, long now) {
    this.id = id;
    this.request = request;
    this.waiting = waiting;
    this.seenAt = now;
  }
}
