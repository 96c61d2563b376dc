package dev.sluice.governor.internal.engine;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.BudgetStoreSupport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A ticket: a waiting request, and then its decision. Guarded by the lock of its model. */
public final class Ticket {
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  public final String id;
  public final TokenRequest request;
  final long number;

  /** The end of its longest wait. */
  public final long deadline;

  /** The waiter of the ticket; null if it never waited, and after a restart. */
  @Nullable TokenWaiter waiting;

  /** The time of its last poll. */
  long seenAt;

  /** Waiters for the decision; meanwhile the idle timer does not run. */
  final List<CompletableFuture<Optional<TokenDecision>>> waiters = new ArrayList<>(1);

  /** The decision; null while the request waits. */
  public @Nullable TokenDecision decided;

  /** True if the decision was delivered to a caller, or is about to be. */
  public boolean claimed;

  /** True if only waiters have received the decision. */
  boolean onlyWaited;

  public Ticket(String id, TokenRequest request, long number, long deadline, long now) {
    this.id = id;
    this.request = request;
    this.number = number;
    this.deadline = deadline;
    this.seenAt = now;
  }

  TokenOwner owner(String model) {
    return new TokenOwner(model, request.tenant(), request.priorityClass());
  }

  /** Checks that a repeated idempotency key has the same request. */
  void requireSame(TokenRequest other) {
    if (request.tokens() != other.tokens()
        || !request.priorityClass().equals(other.priorityClass())) {
      throw BudgetStoreSupport.otherRequest(other, request.tokens(), request.priorityClass());
    }
  }

  /** Identifies a request; ordered, so that maps stay fast if hashes collide. */
  record Key(String tenant, String key) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int order = key.compareTo(other.key);
      return order != 0 ? order : tenant.compareTo(other.tenant);
    }
  }

  /** Returns the key of a request, or null if it has none. */
  static @Nullable Key keyOf(TokenRequest request) {
    return request.idempotencyKey() == null
        ? null
        : new Key(request.tenant(), request.idempotencyKey());
  }
}
