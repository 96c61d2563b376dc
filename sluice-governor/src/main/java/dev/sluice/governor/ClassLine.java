package dev.sluice.governor;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Those of one class who wait: first come, first served for each tenant, and fair between tenants
 * by start tags, in tokens by weight. A tenant whose own budget is short steps aside until then,
 * and holds up nobody. Not thread-safe.
 */
final class ClassLine {
  /** Tags are in this fraction of a token, so that weights divide it. */
  private static final long SCALE = 1_000;

  /** Remembered though nothing of them waits, before it is worth a look at all. */
  private static final int SPARE_TENANTS = 64;

  private final NavigableSet<Waiting> all = new TreeSet<>(Waiting::order);
  private final NavigableSet<Waiting> heads = new TreeSet<>(Waiting::order);
  private final PriorityQueue<Aside> aside =
      new PriorityQueue<>(Comparator.comparingLong(Aside::until));
  private final Map<String, TenantLine> tenants = new HashMap<>();
  private long virtualTime;
  private long numbers;
  private long tokens;

  private static final class TenantLine {
    final Deque<Waiting> waiting = new ArrayDeque<>();
    long finish;
    boolean aside;
  }

  private record Aside(TenantLine tenant, long until) {}

  boolean isEmpty() {
    return all.isEmpty();
  }

  int size() {
    return all.size();
  }

  /** Of all who wait. */
  long tokens() {
    return tokens;
  }

  Waiting add(Demand demand, long now) {
    TenantLine tenant = tenants.computeIfAbsent(demand.tenant(), unused -> new TenantLine());
    long start = Math.max(virtualTime, tenant.finish);
    tenant.finish = start + Math.multiplyExact(demand.tokens(), SCALE) / demand.weight();
    Waiting waiting = new Waiting(demand, now, numbers++, start);
    all.add(waiting);
    tokens += demand.tokens();
    if (tenant.waiting.isEmpty() && !tenant.aside) {
      heads.add(waiting);
    }
    tenant.waiting.addLast(waiting);
    return waiting;
  }

  /** Who goes first of those whose tenant is not aside. */
  @Nullable Waiting first(long now) {
    for (Aside next = aside.peek(); next != null && next.until() - now <= 0; next = aside.peek()) {
      aside.remove();
      comeBack(next.tenant());
    }
    return heads.isEmpty() ? null : heads.first();
  }

  private void comeBack(TenantLine tenant) {
    tenant.aside = false;
    Waiting head = tenant.waiting.peekFirst();
    if (head != null) {
      heads.add(head);
    }
  }

  private TenantLine lineOf(Waiting waiting) {
    return Objects.requireNonNull(tenants.get(waiting.demand.tenant()));
  }

  /** The tenant of this head waits for its own budget. */
  void stepAside(Waiting head, long until) {
    TenantLine tenant = lineOf(head);
    heads.remove(head);
    tenant.aside = true;
    aside.add(new Aside(tenant, until));
  }

  /** When the first of those aside comes back. */
  long nextBack() {
    Aside next = aside.peek();
    return next == null ? Long.MAX_VALUE : next.until();
  }

  /** It is granted: the others' turns count from here. */
  void serve(Waiting waiting) {
    virtualTime = Math.max(virtualTime, waiting.tag);
    remove(waiting);
  }

  /** It leaves. False if it had left before. */
  boolean remove(Waiting waiting) {
    if (!waiting.inLine) {
      return false;
    }
    waiting.inLine = false;
    all.remove(waiting);
    tokens -= waiting.demand.tokens();
    TenantLine tenant = lineOf(waiting);
    boolean wasHead = tenant.waiting.peekFirst() == waiting;
    tenant.waiting.remove(waiting);
    if (wasHead) {
      heads.remove(waiting);
      Waiting head = tenant.waiting.peekFirst();
      if (head != null && !tenant.aside) {
        heads.add(head);
      }
    }
    if (all.isEmpty()) {
      reset();
    } else if (tenants.size() > 2 * all.size() + SPARE_TENANTS) {
      tenants.values().removeIf(this::isForgettable);
    }
    return true;
  }

  /** Who comes now would stand where it would. */
  private boolean isForgettable(TenantLine tenant) {
    return tenant.waiting.isEmpty() && tenant.finish <= virtualTime && !tenant.aside;
  }

  private void reset() {
    tenants.clear();
    heads.clear();
    aside.clear();
    virtualTime = 0;
  }

  /**
   * Who is before somebody.
   *
   * @param count how many
   * @param tokens what they ask for together
   */
  record Ahead(int count, long tokens) {}

  Ahead ahead(Waiting waiting) {
    if (all.last() == waiting) {
      return new Ahead(all.size() - 1, tokens - waiting.demand.tokens());
    }
    int count = 0;
    long sum = 0;
    for (Waiting each : all.headSet(waiting, false)) {
      count++;
      sum += each.demand.tokens();
    }
    return new Ahead(count, sum);
  }

  Iterable<Waiting> inOrder() {
    return all;
  }
}
