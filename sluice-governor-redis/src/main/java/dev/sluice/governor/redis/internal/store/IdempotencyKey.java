package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.TokenRequest;
import org.jspecify.annotations.Nullable;

/** An idempotency key of one tenant; ordered, so that maps stay fast if hashes collide. */
public record IdempotencyKey(String tenant, String key) implements Comparable<IdempotencyKey> {
  /** Returns the key of {@code request}; null if it has none. */
  static @Nullable IdempotencyKey of(TokenRequest request) {
    String key = request.idempotencyKey();
    return key == null ? null : new IdempotencyKey(request.tenant(), key);
  }

  @Override
  public int compareTo(IdempotencyKey other) {
    int order = key.compareTo(other.key);
    return order != 0 ? order : tenant.compareTo(other.tenant);
  }
}
