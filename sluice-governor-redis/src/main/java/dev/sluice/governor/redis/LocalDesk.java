package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.HealthRules;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.OpenWork;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.StandInStore;
import dev.sluice.governor.StoreTerms;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides for one model while Redis is away: the store of a single process with this node's share
 * of the budget, from empty, which begins with the reservations and the awaited tickets of this
 * node. Thread-safe.
 */
final class LocalDesk {
  /*
   * A store is opened and asked inside FleetConnection.whileOut, so Redis has reserved the share by then. It grants
   * nothing after `end`, which comes before the heartbeat that frees the share.
   */
  private final String model;
  private final Fleet fleet;
  private final ModelBooks books;
  private final GovernorTimer timer;
  private final BudgetListener listener;
  private final Callers callers;

  /** Of the outage that goes on; null if none was needed yet. Written under the lock of this. */
  private volatile @Nullable Begun begun;

  /** What this node knows of its callers. */
  interface Callers {
    /** Returns what Redis granted to them and is not settled. */
    List<OpenWork.Held> open();

    /** Returns the tickets that they wait for, in order. */
    List<OpenWork.Place> awaited();

    /** Returns what the provider said and holds; null for nothing. */
    @Nullable Adjustment adjustment();

    /** A ticket that they wait for is decided. */
    void decided(String ticket, Outcome outcome);
  }

  /** One outage. */
  private static final class Begun {
    final ShareOfBudget share;
    final LocalCount count;
    final Set<String> before = new HashSet<>();
    final Set<String> tickets = new HashSet<>();
    final Map<String, CompletableFuture<?>> waiters = new HashMap<>();
    @Nullable StandInStore store;

    Begun(ShareOfBudget share, LocalCount count) {
      this.share = share;
      this.count = count;
    }
  }

  /**
   * What became of one outage.
   *
   * @param over tickets of Redis that were granted and settled here, or have left the line
   * @param granted reservations that this node made and that are not settled
   * @param waiting tickets that this node made and that are in line
   * @param bySecond tokens granted here by second of the time of Redis
   * @param tokens tokens granted here
   */
  record Ended(
      List<String> over,
      List<OpenWork.Held> granted,
      List<OpenWork.Place> waiting,
      Map<Long, Long> bySecond,
      long tokens) {}

  LocalDesk(
      String model,
      Fleet fleet,
      ModelBooks books,
      GovernorTimer timer,
      BudgetListener listener,
      Callers callers) {
    this.model = model;
    this.fleet = fleet;
    this.books = books;
    this.timer = timer;
    this.listener = listener;
    this.callers = callers;
  }

  /** Decides by this node's share; empty if Redis decides, or if there is no share. */
  <T> Optional<T> decide(Function<StandInStore, CompletableFuture<T>> decision) {
    return whileOut(
            now -> {
              StandInStore store = now.store;
              return store == null
                  ? Optional.<T>empty()
                  : Optional.ofNullable(Fleet.now(decision.apply(store)));
            })
        .flatMap(decided -> decided);
  }

  private <T> Optional<T> whileOut(Function<Begun, T> decision) {
    return fleet.isLocal()
        ? fleet.connection().whileOut(() -> decision.apply(begin()))
        : Optional.empty();
  }

  /** Opens the store, so that tickets are granted though nobody asks. */
  void open() {
    whileOut(now -> true);
  }

  private Begun begin() {
    Begun present = begun;
    if (present != null) {
      return present;
    }
    synchronized (this) {
      if (begun == null) {
        ShareOfBudget share = new ShareOfBudget(fleet.connection().share());
        Begun next = new Begun(share, new LocalCount(listener, fleet::serverNanos));
        openStore(next, new OpenWork(callers.open(), callers.awaited()));
        begun = next;
      }
      return begun;
    }
  }

  private void openStore(Begun next, OpenWork open) {
    open.reservations().forEach(each -> next.before.add(each.answer().reservation()));
    ModelBudget part = next.share.of(books.terms().budget());
    if (part == null) {
      return;
    }
    List<OpenWork.Place> served =
        open.tickets().stream()
            .filter(each -> next.share.hasTenant(books.terms().budget(), each.request().tenant()))
            .toList();
    StandInStore store =
        StoreTerms.standIn(
            new LastingTimer(timer),
            config(part),
            next.count,
            new OpenWork(open.reservations(), served));
    next.store = store;
    Adjustment inForce = callers.adjustment();
    if (inForce != null) {
      Fleet.now(store.adjust(model, inForce));
    }
    for (OpenWork.Place each : served) {
      if (Fleet.now(store.owner(each.id())).isPresent()) {
        next.tickets.add(each.id());
        await(next, store, each.id());
      }
    }
  }

  private BudgetConfig config(ModelBudget part) {
    return new BudgetConfig(
        Map.of(model, part), books.terms().rules(), HealthRules.DEFAULTS, Map.of(), List.of());
  }

  // ---- callers that wait

  /** Tells the callers what becomes of a ticket; false if it is not known here. */
  boolean await(String ticket) {
    return whileOut(
            now -> {
              StandInStore store = now.store;
              if (store == null || Fleet.now(store.owner(ticket)).isEmpty()) {
                return false;
              }
              synchronized (this) {
                await(now, store, ticket);
              }
              return true;
            })
        .orElse(false);
  }

  private void await(Begun now, StandInStore store, String ticket) {
    if (!now.waiters.containsKey(ticket)) {
      CompletableFuture<Optional<Outcome>> waiter = store.await(ticket);
      now.waiters.put(ticket, waiter);
      var unused =
          waiter.thenAccept(outcome -> outcome.ifPresent(decided -> decided(now, ticket, decided)));
    }
  }

  private void decided(Begun now, String ticket, Outcome outcome) {
    synchronized (this) {
      now.waiters.remove(ticket);
      if (isOnlyForTheShare(outcome)) {
        // It keeps its place in Redis, and is told later.
        now.tickets.remove(ticket);
        return;
      }
    }
    callers.decided(ticket, outcome);
  }

  /** Returns whether it exceeds this node's share after a change of the rules. */
  private static boolean isOnlyForTheShare(Outcome outcome) {
    return outcome instanceof Outcome.Refused refused
        && refused.reason() == Outcome.Reason.EXCEEDS_CAPACITY;
  }

  /** Nobody waits any longer: the ticket has to be asked for again. */
  void leave(String ticket) {
    CompletableFuture<?> waiter = null;
    synchronized (this) {
      Begun now = begun;
      waiter = now == null ? null : now.waiters.remove(ticket);
    }
    if (waiter != null) {
      waiter.cancel(false);
    }
  }

  // ---- rules

  /** Returns whether this node's share can serve a tenant at all. */
  boolean hasTenant(String tenant) {
    Begun now = begun;
    return now == null || now.share.hasTenant(books.terms().budget(), tenant);
  }

  void adjust(Adjustment adjustment) {
    Begun now = begun;
    Long most = adjustment.tokensAtMost();
    Adjustment part =
        new Adjustment(
            adjustment.factor(),
            most == null || now == null ? null : (Long) now.share.part(most),
            adjustment.pause());
    decide(store -> store.adjust(model, part));
  }

  void reload() {
    whileOut(
        now -> {
          StandInStore store = now.store;
          ModelBudget part = now.share.of(books.terms().budget());
          if (store != null && part != null) {
            Fleet.now(store.reload(config(part)));
          }
          return true;
        });
  }

  // ---- the end

  /** Ends the outage: nothing is granted here any more. Empty if nothing was. */
  synchronized Optional<Ended> end() {
    Begun now = begun;
    begun = null;
    StandInStore store = now == null ? null : now.store;
    if (now == null || store == null) {
      return Optional.empty();
    }
    OpenWork left = store.handOver();
    Set<String> over = new HashSet<>(now.tickets);
    left.tickets().forEach(each -> over.remove(each.id()));
    left.reservations().forEach(each -> over.remove(ticketOf(each)));
    return Optional.of(
        new Ended(
            List.copyOf(over),
            left.reservations().stream()
                .filter(each -> !now.before.contains(each.answer().reservation()))
                .toList(),
            left.tickets().stream().filter(each -> !now.tickets.contains(each.id())).toList(),
            now.count.bySecond(),
            now.count.granted()));
  }

  private static String ticketOf(OpenWork.Held held) {
    String ticket = held.ticket();
    return ticket == null ? "" : ticket;
  }

  /** The timer of the desk, which outlives the store. */
  private record LastingTimer(GovernorTimer timer) implements GovernorTimer {
    @Override
    public long now() {
      return timer.now();
    }

    @Override
    public void after(long nanos, Runnable action) {
      timer.after(nanos, action);
    }

    @Override
    public void execute(Runnable action) {
      timer.execute(action);
    }

    @Override
    public void close() {}
  }
}
