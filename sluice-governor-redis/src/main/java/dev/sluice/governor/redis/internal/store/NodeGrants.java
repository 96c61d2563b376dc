package dev.sluice.governor.redis.internal.store;

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
 * Grants that this node has delivered and that are neither settled nor expired. Bounded: the oldest
 * are dropped. Thread-safe.
 */
public final class NodeGrants {
  private static final int MOST = 100_000;

  private final StoreTimer timer;
  private final LongSupplier timeoutNanos;

  // Guarded by this. In the order of expiration, unless the timeout has become longer.
  private final Map<String, NodeGrants.GrantState> byId = new LinkedHashMap<>();
  private final Map<IdempotencyKey, String> byKey = new LinkedHashMap<>();

  /**
   * A grant.
   *
   * @param answer the decision for the caller
   * @param tenant the tenant
   * @param key the idempotency key; null for none
   * @param unchecked whether it was granted by outage mode {@code open}, without a charge
   */
  record Grant(
      TokenDecision.Granted answer, String tenant, @Nullable String key, boolean unchecked) {
    /** Returns a grant of this node's share, which is reported to Redis. */
    static Grant of(StoreSnapshot.OpenReservation reservation) {
      TokenRequest request = reservation.request();
      return new Grant(reservation.answer(), request.tenant(), request.idempotencyKey(), false);
    }

    /** Returns the reservation, for a store in this process. */
    StoreSnapshot.OpenReservation reservation(ReplyMapper replies) {
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

    /** Returns the arguments of {@link GovernorScript#RESTORE_GRANTS}. */
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
     * Returns the settlement as far as it is known without Redis: without a refund, and with a
     * charge of at most {@code most}.
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
   * The state of a grant.
   *
   * @param endsAt the time at which it expires
   * @param deliveries the number of callers that have it or will have it
   */
  private record GrantState(Grant grant, long endsAt, int deliveries) {}

  /**
   * A grant that was extended.
   *
   * @param before the time at which it would have expired otherwise, by the timer
   */
  record Extended(Grant grant, long before) {}

  NodeGrants(StoreTimer timer, LongSupplier timeoutNanos) {
    this.timer = timer;
    this.timeoutNanos = timeoutNanos;
  }

  /** Adds a delivered grant. A second delivery, as by a poll, does not extend it. */
  synchronized void add(Grant grant) {
    forgetEnded();
    if (byId.computeIfPresent(grant.id(), (id, state) -> withDeliveries(state, 1)) == null) {
      put(grant, 1);
    }
    if (byId.size() > MOST) {
      drop(byId.keySet().iterator().next());
    }
  }

  private static GrantState withDeliveries(GrantState state, int more) {
    return new GrantState(state.grant(), state.endsAt(), state.deliveries() + more);
  }

  private void put(Grant grant, int deliveries) {
    byId.put(
        grant.id(), new GrantState(grant, timer.nanoTime() + timeoutNanos.getAsLong(), deliveries));
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
    NodeGrants.GrantState state = byId.remove(id);
    if (state == null) {
      return null;
    }
    forgetKey(state.grant());
    return state.grant();
  }

  synchronized @Nullable Grant find(String id) {
    forgetEnded();
    NodeGrants.GrantState state = byId.get(id);
    return state == null ? null : state.grant();
  }

  /**
   * Returns the decision that was delivered for the idempotency key of a request.
   *
   * @throws IllegalArgumentException if that was another request
   */
  synchronized Optional<TokenDecision> find(TokenRequest request) {
    return granted(request).map(grant -> requireSame(grant.answer(), request));
  }

  /** Returns {@link #find} for grants of outage mode {@code open}. */
  synchronized Optional<TokenDecision> findUnchecked(TokenRequest request) {
    return granted(request)
        .filter(Grant::unchecked)
        .map(grant -> requireSame(grant.answer(), request));
  }

  private Optional<Grant> granted(TokenRequest request) {
    IdempotencyKey key = IdempotencyKey.of(request);
    String id = key == null ? null : byKey.get(key);
    return Optional.ofNullable(id == null ? null : find(id));
  }

  private static TokenDecision requireSame(TokenDecision.Granted answer, TokenRequest request) {
    if (answer.requestedTokens() != request.tokens()
        || !answer.priorityClass().equals(request.priorityClass())) {
      throw BudgetStoreSupport.otherRequest(
          request, answer.requestedTokens(), answer.priorityClass());
    }
    return answer;
  }

  /** Removes a settled grant; returns null if it is unknown. */
  synchronized @Nullable Grant remove(String id) {
    forgetEnded();
    return drop(id);
  }

  /** Removes a grant that did not reach its caller, unless another caller has it. */
  synchronized void undelivered(String id) {
    GrantState left = byId.computeIfPresent(id, (same, state) -> withDeliveries(state, -1));
    if (left != null && left.deliveries() == 0) {
      drop(id);
    }
  }

  /** Restarts the timeout of a grant; returns null if it is unknown. */
  synchronized @Nullable Extended extend(String id) {
    forgetEnded();
    GrantState state = byId.get(id);
    if (state == null) {
      return null;
    }
    drop(id);
    put(state.grant(), state.deliveries());
    return new Extended(state.grant(), state.endsAt());
  }

  /** Applies a shorter timeout: no grant expires later than a new one. */
  synchronized void shorten() {
    long latest = timer.nanoTime() + timeoutNanos.getAsLong();
    byId.replaceAll(
        (id, state) ->
            state.endsAt() - latest > 0
                ? new GrantState(state.grant(), latest, state.deliveries())
                : state);
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
