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

    /** Returns the budget of the model; null if the model was removed. */
    @Nullable ModelBudget budget();

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

    /** Null if the share is too small to grant anything. */
    volatile @Nullable StandInStore store;

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
    return whileOut(now -> ask(now, store -> Fleet.now(decision.apply(store))))
        .flatMap(decided -> decided);
  }

  private static <T> Optional<T> ask(Begun now, Function<StandInStore, T> question) {
    StandInStore store = now.store;
    if (store == null) {
      return Optional.empty();
    }
    try {
      return Optional.ofNullable(question.apply(store));
    } catch (IllegalStateException closed) {
      if (now.store == store) {
        throw closed;
      }
      // A reload has ended the share meanwhile.
      return Optional.empty();
    }
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
        Begun next = new Begun(new ShareOfBudget(fleet.connection().share()), newCount());
        ModelBudget part = part(next.share);
        if (part != null) {
          openStore(next, part);
        }
        begun = next;
      }
      return begun;
    }
  }

  private LocalCount newCount() {
    return new LocalCount(listener, fleet.serverNanos() - timer.now());
  }

  /** Returns this node's part of the budget; null if it has none. */
  private @Nullable ModelBudget part(ShareOfBudget share) {
    ModelBudget whole = callers.budget();
    return whole == null ? null : share.of(whole);
  }

  private void openStore(Begun next, ModelBudget part) {
    OpenWork open = new OpenWork(callers.open(), callers.awaited());
    open.reservations().forEach(each -> next.before.add(each.answer().reservation()));
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
            now ->
                ask(
                    now,
                    store -> {
                      if (Fleet.now(store.owner(ticket)).isEmpty()) {
                        return false;
                      }
                      synchronized (this) {
                        await(now, store, ticket);
                      }
                      return true;
                    }))
        .flatMap(known -> known)
        .orElse(false);
  }

  /**
   * No caller has heard what became of a ticket: it has to be asked for again. False if this node's
   * share does not decide any more.
   */
  boolean unheard(String ticket) {
    return whileOut(
            now ->
                ask(
                    now,
                    store -> {
                      store.unheard(ticket);
                      return true;
                    }))
        .flatMap(done -> done)
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
    ModelBudget whole = callers.budget();
    return whole != null && (now == null || now.share.hasTenant(whole, tenant));
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

  /** Goes by the present rules; returns what became of the share if they leave none. */
  Optional<Ended> reload() {
    return whileOut(this::reload).flatMap(ended -> ended);
  }

  private synchronized Optional<Ended> reload(Begun now) {
    StandInStore store = now.store;
    ModelBudget part = part(now.share);
    if (store == null) {
      if (part != null) {
        openStore(now, part);
      }
      return Optional.empty();
    }
    if (part == null) {
      begun = new Begun(now.share, newCount());
      return Optional.of(handOver(now, store));
    }
    Fleet.now(store.reload(config(part)));
    return Optional.empty();
  }

  // ---- the end

  /** Returns whether there is an outage that has not ended. */
  boolean hasBegun() {
    return begun != null;
  }

  /** Ends the outage: nothing is granted here any more. Empty if nothing was. */
  synchronized Optional<Ended> end() {
    Begun now = begun;
    begun = null;
    StandInStore store = now == null ? null : now.store;
    return now == null || store == null ? Optional.empty() : Optional.of(handOver(now, store));
  }

  private static Ended handOver(Begun now, StandInStore store) {
    now.store = null;
    OpenWork left = store.handOver();
    Set<String> over = new HashSet<>(now.tickets);
    left.tickets().forEach(each -> over.remove(each.id()));
    left.reservations().forEach(each -> over.remove(ticketOf(each)));
    return new Ended(
        List.copyOf(over),
        left.reservations().stream()
            .filter(each -> !now.before.contains(each.answer().reservation()))
            .toList(),
        left.tickets().stream().filter(each -> !now.tickets.contains(each.id())).toList(),
        now.count.bySecond(),
        now.count.granted());
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
