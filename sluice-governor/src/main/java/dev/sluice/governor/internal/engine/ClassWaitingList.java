package dev.sluice.governor.internal.engine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The waiters of one class: first come, first served for each tenant, and fair between tenants by
 * start tags, in tokens by weight. A tenant whose own budget is short is set aside until it has
 * tokens, and delays no other tenant. Not thread-safe.
 */
public final class ClassWaitingList {
  /** Tags are in this fraction of a token, so that weights divide it. */
  private static final long SCALE = 1_000;

  /** Remembered though nothing of them waits, before it is worth a look at all. */
  private static final int SPARE_TENANTS = 64;

  private final SplittableRandom chance = new SplittableRandom();
  private final WaiterTreap all = new WaiterTreap(chance);
  private final NavigableSet<TokenWaiter> heads = new TreeSet<>(TokenWaiter::order);
  private final PriorityQueue<ClassWaitingList.BlockedTenant> aside =
      new PriorityQueue<>(Comparator.comparingLong(ClassWaitingList.BlockedTenant::until));
  private final Map<String, ClassWaitingList.TenantQueue> tenants = new HashMap<>();
  private long virtualTime;
  private long numbers;

  private static final class TenantQueue {
    final WaiterTreap waiting;
    long finish;
    boolean aside;

    /** The time of its newest note among the tenants set aside; the most distant past for none. */
    long back = Long.MIN_VALUE;

    TenantQueue(SplittableRandom chance) {
      this.waiting = new WaiterTreap(chance);
    }
  }

  private record BlockedTenant(ClassWaitingList.TenantQueue tenant, long until) {}

  int size() {
    return all.size();
  }

  /** Returns the tokens of all waiters. */
  long tokens() {
    return all.tokens();
  }

  public TokenWaiter add(TokenDemand demand, long now) {
    ClassWaitingList.TenantQueue tenant =
        tenants.computeIfAbsent(
            demand.tenant(), unused -> new ClassWaitingList.TenantQueue(chance));
    TokenWaiter waiting = new TokenWaiter(demand, now, numbers++, startOf(tenant));
    tenant.finish = waiting.tag + Math.multiplyExact(demand.tokens(), SCALE) / demand.weight();
    all.add(waiting);
    if (tenant.waiting.isEmpty() && !tenant.aside) {
      heads.add(waiting);
    }
    tenant.waiting.add(waiting);
    return waiting;
  }

  private long startOf(ClassWaitingList.@Nullable TenantQueue tenant) {
    return tenant == null ? virtualTime : Math.max(virtualTime, tenant.finish);
  }

  /** Returns a waiter at the position of a request that arrived now; does not add it. */
  TokenWaiter imagine(TokenDemand demand, long now) {
    return new TokenWaiter(demand, now, numbers, startOf(tenants.get(demand.tenant())));
  }

  /** Returns whether that waiter would be the first candidate of its class. */
  boolean wouldBeFirst(TokenWaiter imagined, long now) {
    ClassWaitingList.TenantQueue tenant = tenants.get(imagined.demand.tenant());
    TokenWaiter first = first(now);
    return (tenant == null || (tenant.waiting.isEmpty() && !tenant.aside))
        && (first == null || TokenWaiter.order(imagined, first) < 0);
  }

  /** Returns the first waiter whose tenant is not set aside. */
  @Nullable TokenWaiter first(long now) {
    for (ClassWaitingList.BlockedTenant next = aside.peek();
        next != null && next.until() - now <= 0;
        next = aside.peek()) {
      aside.remove();
      if (next.tenant().back == next.until()) {
        next.tenant().back = Long.MIN_VALUE;
      }
      returnTenant(next.tenant());
    }
    return heads.isEmpty() ? null : heads.first();
  }

  private void returnTenant(ClassWaitingList.TenantQueue tenant) {
    tenant.aside = false;
    TokenWaiter head = tenant.waiting.first();
    if (head != null) {
      heads.add(head);
    }
  }

  private ClassWaitingList.TenantQueue queueOf(TokenWaiter waiting) {
    return Objects.requireNonNull(tenants.get(waiting.demand.tenant()));
  }

  /** Sets aside the tenant of this head, which waits for its own budget. */
  public void setAside(TokenWaiter head, long until) {
    ClassWaitingList.TenantQueue tenant = queueOf(head);
    heads.remove(head);
    tenant.aside = true;
    if (tenant.back != until) {
      tenant.back = until;
      aside.add(new ClassWaitingList.BlockedTenant(tenant, until));
    }
    if (aside.size() > 2 * tenants.size() + SPARE_TENANTS) {
      aside.removeIf(each -> each.until() != each.tenant().back);
    }
  }

  /** Makes a tenant a candidate again, because its budget has changed since it was set aside. */
  void recall(String name) {
    ClassWaitingList.TenantQueue tenant = tenants.get(name);
    if (tenant != null && tenant.aside) {
      returnTenant(tenant);
    }
  }

  /** Returns the number of notes about tenants that were set aside. */
  public int remembered() {
    return aside.size();
  }

  /** Returns the time at which the next tenant is a candidate again. */
  long nextBack() {
    ClassWaitingList.BlockedTenant next = aside.peek();
    return next == null ? Long.MAX_VALUE : next.until();
  }

  /** Removes a waiter that is granted; the turns of others count from its tag. */
  void serve(TokenWaiter waiting) {
    virtualTime = Math.max(virtualTime, waiting.tag);
    remove(waiting);
  }

  /** Removes a waiter without a grant; returns false if it had left before. */
  public boolean leave(TokenWaiter waiting) {
    if (!waiting.isWaiting) {
      return false;
    }
    ClassWaitingList.TenantQueue tenant = queueOf(waiting);
    if (tenant.waiting.last() == waiting) {
      // Tokens that it did not get are no turn of its tenant.
      tenant.finish = waiting.tag;
    }
    remove(waiting);
    recall(waiting.demand.tenant());
    return true;
  }

  private void remove(TokenWaiter waiting) {
    waiting.isWaiting = false;
    all.remove(waiting);
    ClassWaitingList.TenantQueue tenant = queueOf(waiting);
    boolean wasHead = tenant.waiting.first() == waiting;
    tenant.waiting.remove(waiting);
    if (wasHead) {
      heads.remove(waiting);
      TokenWaiter head = tenant.waiting.first();
      if (head != null && !tenant.aside) {
        heads.add(head);
      }
    }
    if (all.size() == 0) {
      reset();
    } else if (tenants.size() > 2 * all.size() + SPARE_TENANTS) {
      tenants.values().removeIf(this::isForgettable);
    }
  }

  /** Returns a waiter at the place that a request would take now. */
  private boolean isForgettable(ClassWaitingList.TenantQueue tenant) {
    return tenant.waiting.isEmpty() && tenant.finish <= virtualTime && !tenant.aside;
  }

  private void reset() {
    tenants.clear();
    heads.clear();
    aside.clear();
    virtualTime = 0;
  }

  /** Returns what is before a waiter, or before an imagined one. */
  WaiterTreap.Prefix ahead(TokenWaiter waiting) {
    return all.ahead(waiting);
  }

  /** Returns what of the same tenant is before a waiter, or before an imagined one. */
  WaiterTreap.Prefix aheadOfTenant(TokenWaiter waiting) {
    ClassWaitingList.TenantQueue tenant = tenants.get(waiting.demand.tenant());
    return tenant == null ? WaiterTreap.Prefix.NOTHING : tenant.waiting.ahead(waiting);
  }

  /** Returns the tokens of all waiters of a tenant. */
  long tokensOf(String name) {
    ClassWaitingList.TenantQueue tenant = tenants.get(name);
    return tenant == null ? 0 : tenant.waiting.tokens();
  }

  /** Returns the last waiter; null if there is none. */
  @Nullable TokenWaiter last() {
    return all.last();
  }

  /** Returns all waiters in order. */
  List<TokenWaiter> inOrder() {
    List<TokenWaiter> waiting = new ArrayList<>(all.size());
    all.inOrder(waiting::add);
    return waiting;
  }
}
