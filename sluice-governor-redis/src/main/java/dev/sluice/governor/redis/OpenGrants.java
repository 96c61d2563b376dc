package dev.sluice.governor.redis;

import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.OpenWork;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Grants that this node has told somebody of and that are not settled, as long as they live. Of too
 * many the oldest are forgotten. For any number of threads.
 */
final class OpenGrants {
  private static final int MOST = 100_000;

  private final GovernorTimer timer;
  private final LongSupplier lifeNanos;

  // Guarded by this. In the order in which they end, but where lives have become longer.
  private final Map<String, Held> byId = new LinkedHashMap<>();
  private final Map<Key, String> byKey = new LinkedHashMap<>();

  /**
   * A grant.
   *
   * @param answer what was told
   * @param tenant whose turn it was
   * @param key its idempotency key; null for none
   * @param free whether nobody was asked for it, and nobody is to be charged
   */
  record Grant(Outcome.Granted answer, String tenant, @Nullable String key, boolean free) {
    /** A grant that this node made, and that Redis is told of. */
    static Grant of(OpenWork.Held held) {
      TokenRequest request = held.request();
      return new Grant(held.answer(), request.tenant(), request.idempotencyKey(), false);
    }

    /** As a store in this process has it. */
    OpenWork.Held held(Replies replies) {
      TokenRequest request =
          TokenRequest.of(answer.model(), answer.requestedTokens(), answer.priority())
              .withTenant(tenant);
      return new OpenWork.Held(
          answer,
          key == null ? request : request.withIdempotencyKey(key),
          key == null ? null : replies.ticket(id()),
          true);
    }

    String id() {
      return Replies.idIn(answer.reservation());
    }

    /** As the scripts have it. */
    List<String> words() {
      return List.of(
          id(),
          Long.toString(answer.tokens()),
          Long.toString(answer.requestedTokens()),
          answer.priority(),
          tenant,
          key == null ? "" : key);
    }

    /**
     * As far as it is known without Redis: nothing has come back yet, and no more than {@code most}
     * can be charged.
     */
    Settlement settled(long actual, long most) {
      long overused = Math.max(0, Math.min(actual, most) - answer.tokens());
      return Settlement.of(
          answer.model(), tenant, answer.requestedTokens(), answer.tokens(), actual, -overused);
    }

    TokenOwner owner() {
      return new TokenOwner(answer.model(), tenant, answer.priority());
    }
  }

  private record Held(Grant grant, long endsAt) {}

  /**
   * A grant that lives as long again.
   *
   * @param before when it would have ended otherwise, by the timer
   */
  record Extended(Grant grant, long before) {}

  private record Key(String tenant, String key) {}

  OpenGrants(GovernorTimer timer, LongSupplier lifeNanos) {
    this.timer = timer;
    this.lifeNanos = lifeNanos;
  }

  /** A caller was told of it. One that is told of again, as by a poll, lives no longer. */
  synchronized void add(Grant grant) {
    forgetEnded();
    if (!byId.containsKey(grant.id())) {
      put(grant);
    }
    if (byId.size() > MOST) {
      drop(byId.keySet().iterator().next());
    }
  }

  private void put(Grant grant) {
    byId.put(grant.id(), new Held(grant, timer.now() + lifeNanos.getAsLong()));
    if (grant.key() != null) {
      byKey.put(new Key(grant.tenant(), grant.key()), grant.id());
    }
  }

  private void forgetEnded() {
    long now = timer.now();
    Iterator<Held> each = byId.values().iterator();
    while (each.hasNext()) {
      Held next = each.next();
      if (next.endsAt() - now > 0) {
        return;
      }
      each.remove();
      forgetKey(next.grant());
    }
  }

  private void forgetKey(Grant grant) {
    if (grant.key() != null) {
      byKey.remove(new Key(grant.tenant(), grant.key()), grant.id());
    }
  }

  private @Nullable Grant drop(String id) {
    Held held = byId.remove(id);
    if (held == null) {
      return null;
    }
    forgetKey(held.grant());
    return held.grant();
  }

  synchronized @Nullable Grant find(String id) {
    forgetEnded();
    Held held = byId.get(id);
    return held == null ? null : held.grant();
  }

  /**
   * What was told under the key of a request.
   *
   * @throws IllegalArgumentException if that was another request
   */
  synchronized Optional<Outcome> find(TokenRequest request) {
    return granted(request).map(grant -> same(grant.answer(), request));
  }

  /** {@link #find} of those for which nobody was asked. */
  synchronized Optional<Outcome> findFree(TokenRequest request) {
    return granted(request).filter(Grant::free).map(grant -> same(grant.answer(), request));
  }

  private Optional<Grant> granted(TokenRequest request) {
    String key = request.idempotencyKey();
    String id = key == null ? null : byKey.get(new Key(request.tenant(), key));
    return Optional.ofNullable(id == null ? null : find(id));
  }

  private static Outcome same(Outcome.Granted answer, TokenRequest request) {
    if (answer.requestedTokens() != request.tokens()
        || !answer.priority().equals(request.priority())) {
      throw StoreTerms.otherRequest(request, answer.requestedTokens(), answer.priority());
    }
    return answer;
  }

  /** It is settled; null if it is not known. */
  synchronized @Nullable Grant remove(String id) {
    forgetEnded();
    return drop(id);
  }

  /** It lives as long again; null if it is not known. */
  synchronized @Nullable Extended extend(String id) {
    forgetEnded();
    Held held = byId.get(id);
    if (held == null) {
      return null;
    }
    drop(id);
    put(held.grant());
    return new Extended(held.grant(), held.endsAt());
  }

  /** Lives are shorter now: none ends later than one that begins. */
  synchronized void shorten() {
    long latest = timer.now() + lifeNanos.getAsLong();
    byId.replaceAll(
        (id, held) -> held.endsAt() - latest > 0 ? new Held(held.grant(), latest) : held);
  }

  synchronized int size() {
    forgetEnded();
    return byId.size();
  }

  synchronized List<Grant> all() {
    forgetEnded();
    return byId.values().stream().map(Held::grant).toList();
  }
}
