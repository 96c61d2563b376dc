package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Idempotency keys of requests that Redis may have granted without an answer, and those of them
 * that this node has decided since. Bounded: the oldest are dropped. Thread-safe.
 */
public final class UnansweredKeys {
  private static final int MOST = 10_000;

  // Guarded by this.
  private final Set<IdempotencyKey> unanswered = new LinkedHashSet<>();
  private final Set<IdempotencyKey> decidedLocally = new LinkedHashSet<>();

  private static List<IdempotencyKey> of(TokenRequest request) {
    IdempotencyKey key = IdempotencyKey.of(request);
    return key == null ? List.of() : List.of(key);
  }

  private static void add(Set<IdempotencyKey> keys, IdempotencyKey key) {
    keys.add(key);
    if (keys.size() > MOST) {
      keys.remove(keys.iterator().next());
    }
  }

  /** Records that Redis did not answer a request. */
  public synchronized void unanswered(TokenRequest request) {
    of(request).forEach(key -> add(unanswered, key));
  }

  /** Records that Redis has answered the same request. */
  public synchronized void answered(TokenRequest request) {
    if (!unanswered.isEmpty()) {
      of(request).forEach(unanswered::remove);
    }
  }

  /** Records whether this node has granted or queued a request; returns the outcome. */
  synchronized Optional<TokenDecision> decidedLocally(
      TokenRequest request, Optional<TokenDecision> outcome) {
    if (outcome
        .filter(each -> each.isGranted() || each instanceof TokenDecision.Queued)
        .isPresent()) {
      decidedLocally(request);
    }
    return outcome;
  }

  /** Records that this node has granted or queued a request. */
  public synchronized void decidedLocally(TokenRequest request) {
    of(request).stream().filter(unanswered::remove).forEach(key -> add(decidedLocally, key));
  }

  /** Returns and removes the keys that this node decided: Redis takes back its grants for them. */
  public synchronized List<IdempotencyKey> takeDecided() {
    List<IdempotencyKey> keys = new ArrayList<>(decidedLocally);
    decidedLocally.clear();
    return keys;
  }
}
