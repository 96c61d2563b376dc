package dev.sluice.governor.redis.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
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
public final class NodeGrants {
  private static final int MOST = 100_000;

  private final StoreTimer timer;
  private final LongSupplier lifeNanos;

  // Guarded by this. In the order in which they end, but where lives have become longer.
  private final Map<String, NodeGrants.GrantState> byId = new LinkedHashMap<>();
  private final Map<IdempotencyKey, String> byKey = new LinkedHashMap<>();

  /**
   * A grant.
   *
   * @param answer what was told
   * @param tenant whose turn it was
   * @param key its idempotency key; null for none
   * @param free whether nobody was asked for it, and nobody is to be charged
   */
  record Grant(TokenDecision.Granted answer, String tenant, @Nullable String key, boolean free) {
    /** A grant that this node made, and that Redis is told of. */
    static Grant of(StoreSnapshot.OpenReservation held) {
      TokenRequest request = held.request();
      return new Grant(held.answer(), request.tenant(), request.idempotencyKey(), false);
    }

    /** As a store in this process has it. */
    StoreSnapshot.OpenReservation held(ReplyMapper replies) {
      TokenRequest request =
          TokenRequest.of(answer.model(), answer.requestedTokens())
              .withPriorityClass(answer.priorityClass())
              .withTenant(tenant);
      return new StoreSnapshot.OpenReservation(
          answer,
          key == null ? request : request.withIdempotencyKey(key),
          key == null ? null : replies.ticket(id()),
          true);
    }

    String id() {
      return ReplyMapper.idIn(answer.reservation());
    }

    /** As the scripts have it. */
    List<String> arguments() {
      return List.of(
          id(),
          Long.toString(answer.tokens()),
          Long.toString(answer.requestedTokens()),
          answer.priorityClass(),
          tenant,
          key == null ? "" : key);
    }

    /**
     * As far as it is known without Redis: nothing has come back yet, and no more than {@code most}
     * can be charged.
     */
    TokenSettlement settled(long actual, long most) {
      long overused = Math.max(0, Math.min(actual, most) - answer.tokens());
      return TokenSettlement.of(
          answer.model(), tenant, answer.requestedTokens(), answer.tokens(), actual, -overused);
    }

    TokenOwner owner() {
      return new TokenOwner(answer.model(), tenant, answer.priorityClass());
    }
  }

  /**
   * How a grant stands.
   *
   * @param told how often it was told, or is about to be
   */
  private record GrantState(Grant grant, long endsAt, int told) {}

  /**
   * A grant that lives as long again.
   *
   * @param before when it would have ended otherwise, by the timer
   */
  record Extended(Grant grant, long before) {}

  NodeGrants(StoreTimer timer, LongSupplier lifeNanos) {
    this.timer = timer;
    this.lifeNanos = lifeNanos;
  }

  /** A caller was told of it. One that is told of again, as by a poll, lives no longer. */
  synchronized void add(Grant grant) {
    forgetEnded();
    if (byId.computeIfPresent(grant.id(), (id, held) -> told(held, 1)) == null) {
      put(grant, 1);
    }
    if (byId.size() > MOST) {
      drop(byId.keySet().iterator().next());
    }
  }

  private static GrantState told(GrantState held, int more) {
    return new GrantState(held.grant(), held.endsAt(), held.told() + more);
  }

  private void put(Grant grant, int told) {
    byId.put(grant.id(), new GrantState(grant, timer.nanoTime() + lifeNanos.getAsLong(), told));
    if (grant.key() != null) {
      byKey.put(new IdempotencyKey(grant.tenant(), grant.key()), grant.id());
    }
  }

  private void forgetEnded() {
    long now = timer.nanoTime();
    Iterator<NodeGrants.GrantState> each = byId.values().iterator();
    while (each.hasNext()) {
      NodeGrants.GrantState next = each.next();
      if (next.endsAt() - now > 0) {
        return;
      }
      each.remove();
      forgetKey(next.grant());
    }
  }

  private void forgetKey(Grant grant) {
    if (grant.key() != null) {
      byKey.remove(new IdempotencyKey(grant.tenant(), grant.key()), grant.id());
    }
  }

  private @Nullable Grant drop(String id) {
    NodeGrants.GrantState held = byId.remove(id);
    if (held == null) {
      return null;
    }
    forgetKey(held.grant());
    return held.grant();
  }

  synchronized @Nullable Grant find(String id) {
    forgetEnded();
    NodeGrants.GrantState held = byId.get(id);
    return held == null ? null : held.grant();
  }

  /**
   * Returns the decision that was told for the idempotency key of a request.
   *
   * @throws IllegalArgumentException if that was another request
   */
  synchronized Optional<TokenDecision> find(TokenRequest request) {
    return granted(request).map(grant -> same(grant.answer(), request));
  }

  /** {@link #find} of those for which nobody was asked. */
  synchronized Optional<TokenDecision> findFree(TokenRequest request) {
    return granted(request).filter(Grant::free).map(grant -> same(grant.answer(), request));
  }

  private Optional<Grant> granted(TokenRequest request) {
    IdempotencyKey key = IdempotencyKey.of(request);
    String id = key == null ? null : byKey.get(key);
    return Optional.ofNullable(id == null ? null : find(id));
  }

  private static TokenDecision same(TokenDecision.Granted answer, TokenRequest request) {
    if (answer.requestedTokens() != request.tokens()
        || !answer.priorityClass().equals(request.priorityClass())) {
      throw BudgetStoreSupport.otherRequest(
          request, answer.requestedTokens(), answer.priorityClass());
    }
    return answer;
  }

  /** It is settled; null if it is not known. */
  synchronized @Nullable Grant remove(String id) {
    forgetEnded();
    return drop(id);
  }

  /** A caller that was to be told of it had gone: removes it, unless another one is told of it. */
  synchronized void unheard(String id) {
    GrantState left = byId.computeIfPresent(id, (same, held) -> told(held, -1));
    if (left != null && left.told() == 0) {
      drop(id);
    }
  }

  /** It lives as long again; null if it is not known. */
  synchronized @Nullable Extended extend(String id) {
    forgetEnded();
    GrantState held = byId.get(id);
    if (held == null) {
      return null;
    }
    drop(id);
    put(held.grant(), held.told());
    return new Extended(held.grant(), held.endsAt());
  }

  /** Lives are shorter now: none ends later than one that begins. */
  synchronized void shorten() {
    long latest = timer.nanoTime() + lifeNanos.getAsLong();
    byId.replaceAll(
        (id, held) ->
            held.endsAt() - latest > 0 ? new GrantState(held.grant(), latest, held.told()) : held);
  }

  synchronized int size() {
    forgetEnded();
    return byId.size();
  }

  synchronized List<Grant> all() {
    forgetEnded();
    return byId.values().stream().map(NodeGrants.GrantState::grant).toList();
  }
}
