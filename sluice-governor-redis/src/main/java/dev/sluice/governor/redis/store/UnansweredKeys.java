package dev.sluice.governor.redis.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Idempotency keys of requests that Redis may have granted without an answer, and those of them
 * that this node has decided since by itself. Of too many the oldest are forgotten. Thread-safe.
 */
public final class UnansweredKeys {
  private static final int MOST = 10_000;

  // Guarded by this.
  private final Set<IdempotencyKey> unanswered = new LinkedHashSet<>();
  private final Set<IdempotencyKey> decidedHere = new LinkedHashSet<>();

  private static List<IdempotencyKey> of(TokenRequest request) {
    IdempotencyKey key = IdempotencyKey.of(request);
    return key == null ? List.of() : List.of(key);
  }

  private static void keep(Set<IdempotencyKey> keys, IdempotencyKey key) {
    keys.add(key);
    if (keys.size() > MOST) {
      keys.remove(keys.iterator().next());
    }
  }

  /** Redis was asked, and did not answer. */
  public synchronized void unanswered(TokenRequest request) {
    of(request).forEach(key -> keep(unanswered, key));
  }

  /** Redis has answered the same request. */
  public synchronized void answered(TokenRequest request) {
    if (!unanswered.isEmpty()) {
      of(request).forEach(unanswered::remove);
    }
  }

  /** Notes that this node has granted or queued a request by itself; returns the outcome. */
  synchronized Optional<TokenDecision> decidedHere(
      TokenRequest request, Optional<TokenDecision> outcome) {
    if (outcome
        .filter(each -> each.isGranted() || each instanceof TokenDecision.Queued)
        .isPresent()) {
      decidedHere(request);
    }
    return outcome;
  }

  /** This node has granted or queued it by itself. */
  public synchronized void decidedHere(TokenRequest request) {
    of(request).stream().filter(unanswered::remove).forEach(key -> keep(decidedHere, key));
  }

  /** Returns the keys that this node decided, once: what Redis granted for them goes back. */
  public synchronized List<IdempotencyKey> takeDecided() {
    List<IdempotencyKey> keys = new ArrayList<>(decidedHere);
    decidedHere.clear();
    return keys;
  }
}
