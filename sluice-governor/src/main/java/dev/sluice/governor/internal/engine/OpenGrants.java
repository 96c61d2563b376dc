package dev.sluice.governor.internal.engine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The open grants of a model, by rising end. Guarded by the lock of its store. */
public final class OpenGrants {
  private final Map<String, OpenGrant> byId = new LinkedHashMap<>();

  /** Adds a grant that ends no earlier than all others. */
  public void add(OpenGrant grant) {
    byId.put(grant.id(), grant);
  }

  public @Nullable OpenGrant find(String id) {
    return byId.get(id);
  }

  public @Nullable OpenGrant remove(String id) {
    return byId.remove(id);
  }

  /** Moves the end of a grant to a time after the ends of all others. */
  public void extend(OpenGrant grant, long endsAt) {
    byId.remove(grant.id());
    grant.endsAt = endsAt;
    byId.put(grant.id(), grant);
  }

  /** Ends all grants at {@code latest} at the latest. */
  public void endBy(long latest) {
    List<OpenGrant> all = new ArrayList<>(byId.values());
    byId.clear();
    all.forEach(each -> each.endsAt = Math.min(each.endsAt, latest));
    all.sort(Comparator.comparingLong(each -> each.endsAt));
    all.forEach(this::add);
  }

  /** Returns a grant whose end has passed; null if there is none. */
  @Nullable OpenGrant expired(long now) {
    OpenGrant first = byId.isEmpty() ? null : byId.values().iterator().next();
    return first != null && first.endsAt <= now ? first : null;
  }

  long nextEnd() {
    return byId.isEmpty() ? Long.MAX_VALUE : byId.values().iterator().next().endsAt;
  }

  public Collection<OpenGrant> all() {
    return byId.values();
  }
}
