package dev.sluice.governor;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All open grants of a desk, the one that ends first being the first. Guarded by the desk. */
final class GrantBook {
  private final Map<String, Grant> byId = new LinkedHashMap<>();

  /** Ends no earlier than those before it. */
  void add(Grant grant) {
    byId.put(grant.id(), grant);
  }

  @Nullable Grant find(String id) {
    return byId.get(id);
  }

  @Nullable Grant remove(String id) {
    return byId.remove(id);
  }

  /** It ends later, and after all others. */
  void extend(Grant grant, long endsAt) {
    byId.remove(grant.id());
    grant.endsAt = endsAt;
    byId.put(grant.id(), grant);
  }

  /** None ends later than that. */
  void endBy(long latest) {
    List<Grant> all = new ArrayList<>(byId.values());
    byId.clear();
    all.forEach(each -> each.endsAt = Math.min(each.endsAt, latest));
    all.sort(Comparator.comparingLong(each -> each.endsAt));
    all.forEach(this::add);
  }

  /** The one that ends first, if it has ended. */
  @Nullable Grant over(long now) {
    Grant first = byId.isEmpty() ? null : byId.values().iterator().next();
    return first != null && first.endsAt <= now ? first : null;
  }

  long nextEnd() {
    return byId.isEmpty() ? Long.MAX_VALUE : byId.values().iterator().next().endsAt;
  }

  Collection<Grant> all() {
    return byId.values();
  }
}
