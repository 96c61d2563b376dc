package dev.sluice.governor;

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
 * Those of one class who wait: first come, first served for each tenant, and fair between tenants
 * by start tags, in tokens by weight. A tenant whose own budget is short steps aside until then,
 * and holds up nobody. Not thread-safe.
 */
final class ClassLine {
  /** Tags are in this fraction of a token, so that weights divide it. */
  private static final long SCALE = 1_000;

  /** Remembered though nothing of them waits, before it is worth a look at all. */
  private static final int SPARE_TENANTS = 64;

  private final SplittableRandom chance = new SplittableRandom();
  private final RankedLine all = new RankedLine(chance);
  private final NavigableSet<Waiting> heads = new TreeSet<>(Waiting::order);
  private final PriorityQueue<Aside> aside =
      new PriorityQueue<>(Comparator.comparingLong(Aside::until));
  private final Map<String, TenantLine> tenants = new HashMap<>();
  private long virtualTime;
  private long numbers;

  private static final class TenantLine {
    final RankedLine waiting;
    long finish;
    boolean aside;

    /** Of its newest note among those aside; there is none for the most distant past. */
    long back = Long.MIN_VALUE;

    TenantLine(SplittableRandom chance) {
      this.waiting = new RankedLine(chance);
    }
  }

  private record Aside(TenantLine tenant, long until) {}

  int size() {
    return all.size();
  }

  /** Of all who wait. */
  long tokens() {
    return all.tokens();
  }

  Waiting add(Demand demand, long now) {
    TenantLine tenant = tenants.computeIfAbsent(demand.tenant(), unused -> new TenantLine(chance));
    Waiting waiting = new Waiting(demand, now, numbers++, startOf(tenant));
    tenant.finish = waiting.tag + Math.multiplyExact(demand.tokens(), SCALE) / demand.weight();
    all.add(waiting);
    if (tenant.waiting.isEmpty() && !tenant.aside) {
      heads.add(waiting);
    }
    tenant.waiting.add(waiting);
    return waiting;
  }

  private long startOf(@Nullable TenantLine tenant) {
    return tenant == null ? virtualTime : Math.max(virtualTime, tenant.finish);
  }

  /** Where somebody would be who came now; nobody is put in line by this. */
  Waiting imagine(Demand demand, long now) {
    return new Waiting(demand, now, numbers, startOf(tenants.get(demand.tenant())));
  }

  /** Whether that would be the first of its class to be asked. */
  boolean wouldBeFirst(Waiting imagined, long now) {
    TenantLine tenant = tenants.get(imagined.demand.tenant());
    Waiting first = first(now);
    return (tenant == null || (tenant.waiting.isEmpty() && !tenant.aside))
        && (first == null || Waiting.order(imagined, first) < 0);
  }

  /** Who goes first of those whose tenant is not aside. */
  @Nullable Waiting first(long now) {
    for (Aside next = aside.peek(); next != null && next.until() - now <= 0; next = aside.peek()) {
      aside.remove();
      if (next.tenant().back == next.until()) {
        next.tenant().back = Long.MIN_VALUE;
      }
      comeBack(next.tenant());
    }
    return heads.isEmpty() ? null : heads.first();
  }

  private void comeBack(TenantLine tenant) {
    tenant.aside = false;
    Waiting head = tenant.waiting.first();
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
    if (tenant.back != until) {
      tenant.back = until;
      aside.add(new Aside(tenant, until));
    }
    if (aside.size() > 2 * tenants.size() + SPARE_TENANTS) {
      aside.removeIf(each -> each.until() != each.tenant().back);
    }
  }

  /** Its budget is another than when it stepped aside: it is asked again. */
  void recall(String name) {
    TenantLine tenant = tenants.get(name);
    if (tenant != null && tenant.aside) {
      comeBack(tenant);
    }
  }

  /** Notes of those who stepped aside. */
  int remembered() {
    return aside.size();
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

  /** It leaves with nothing. False if it had left before. */
  boolean leave(Waiting waiting) {
    if (!waiting.inLine) {
      return false;
    }
    TenantLine tenant = lineOf(waiting);
    if (tenant.waiting.last() == waiting) {
      // What it did not get is no turn of its tenant.
      tenant.finish = waiting.tag;
    }
    remove(waiting);
    recall(waiting.demand.tenant());
    return true;
  }

  private void remove(Waiting waiting) {
    waiting.inLine = false;
    all.remove(waiting);
    TenantLine tenant = lineOf(waiting);
    boolean wasHead = tenant.waiting.first() == waiting;
    tenant.waiting.remove(waiting);
    if (wasHead) {
      heads.remove(waiting);
      Waiting head = tenant.waiting.first();
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

  /** Returns what is before a request in line, or before an imagined one. */
  RankedLine.Ahead ahead(Waiting waiting) {
    return all.ahead(waiting);
  }

  /** Returns what of the same tenant is before a request in line, or before an imagined one. */
  RankedLine.Ahead aheadOfTenant(Waiting waiting) {
    TenantLine tenant = tenants.get(waiting.demand.tenant());
    return tenant == null ? RankedLine.Ahead.NOTHING : tenant.waiting.ahead(waiting);
  }

  /** Of all who wait for a tenant. */
  long tokensOf(String name) {
    TenantLine tenant = tenants.get(name);
    return tenant == null ? 0 : tenant.waiting.tokens();
  }

  /** Null if nobody waits. */
  @Nullable Waiting last() {
    return all.last();
  }

  /** All who wait, the first first. */
  List<Waiting> inOrder() {
    List<Waiting> waiting = new ArrayList<>(all.size());
    all.inOrder(waiting::add);
    return waiting;
  }
}
