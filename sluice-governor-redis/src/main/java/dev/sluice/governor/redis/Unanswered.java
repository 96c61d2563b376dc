package dev.sluice.governor.redis;

import dev.sluice.governor.TokenRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Requests with a key that Redis has not answered: it may have granted them. Of too many the oldest
 * are forgotten. For any number of threads.
 */
final class Unanswered {
  private static final int MOST = 10_000;

  // Guarded by this.
  private final Map<Key, List<String>> byKey = new LinkedHashMap<>();

  private record Key(String tenant, String key) {}

  private static @Nullable Key keyOf(TokenRequest request) {
    String key = request.idempotencyKey();
    return key == null ? null : new Key(request.tenant(), key);
  }

  synchronized void add(String id, TokenRequest request) {
    Key key = keyOf(request);
    if (key == null) {
      return;
    }
    byKey.computeIfAbsent(key, first -> new ArrayList<>(1)).add(id);
    if (byKey.size() > MOST) {
      byKey.remove(byKey.keySet().iterator().next());
    }
  }

  /** Those with the same key, which are forgotten here. */
  synchronized List<String> take(TokenRequest request) {
    Key key = keyOf(request);
    List<String> ids = key == null ? null : byKey.remove(key);
    return ids == null ? List.of() : ids;
  }
}
