package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.spi.OutageBudgetStore;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides for one model while Redis is unreachable: the store of a single process with this node's
 * share of the budget, which starts empty. It has the reservations and the awaited tickets of this
 * node, and those of an earlier outage whose report Redis has not confirmed. Thread-safe.
 */
final class LocalShareStore {
  /*
   * A store is opened and called inside FleetConnection.whileOut, so Redis has reserved the share by then. It grants
   * nothing after `end`, which comes before the heartbeat that releases the share.
   */

  /** Bounded, because each settlement of the fleet may send a notice. */
  private static final int MOST_SETTLED_ELSEWHERE = 100_000;

  private final String model;
  private final GovernorFleetMember fleet;
  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final BudgetListener listener;
  private final LocalShareStore.OutageCallbacks callers;

  /** The present outage; null before it is needed. Written under the lock of this. */
  private volatile LocalShareStore.@Nullable OutageRun current;

  /** The state of the callers of this node. */
  interface OutageCallbacks {
    /** Returns open reservations, and grants that are not claimed yet. */
    List<StoreSnapshot.OpenReservation> open();

    /** Returns the waiting tickets, in order. */
    List<StoreSnapshot.OpenTicket> waiting();

    /** Returns whether a caller of this node waits for a ticket. */
    boolean isAwaited(String id);

    /** Returns the provider's adjustment in force; null if there is none. */
    @Nullable ProviderAdjustment adjustment();

    /** Returns the budget of the model; null if the model was removed. */
    @Nullable ModelBudget budget();

    /** Delivers the decision about an awaited ticket. */
    void decided(String ticket, TokenDecision outcome);

    /**
     * Receives the result of the outage. Called under a lock: takes only locks of its own state.
     */
    void ended(LocalShareStore.OutageResult result);
  }

  /** One outage. */
  private static final class OutageRun {
    final BudgetShare share;
    final OutageGrantCounter count;
    final Set<String> before = new HashSet<>();
    final Set<String> tickets = new HashSet<>();

    /** Ids of reservations that were settled at another node. */
    final Set<String> settledElsewhere = ConcurrentHashMap.newKeySet();

    final Map<String, CompletableFuture<?>> waiters = new HashMap<>();

    /** Null if the share is too small to grant anything. */
    volatile @Nullable OutageBudgetStore store;

    OutageRun(BudgetShare share, OutageGrantCounter count) {
      this.share = share;
      this.count = count;
    }
  }

  /**
   * The result of one outage.
   *
   * @param ended tickets of Redis that were granted and settled here, or have stopped waiting
   * @param granted reservations that this node made and that are not settled
   * @param waiting tickets that this node made and that still wait
   * @param open everything that was open at the end
   * @param bySecond tokens granted here by second of the time of Redis
   * @param tokens tokens granted here
   */
  record OutageResult(
      List<String> ended,
      List<StoreSnapshot.OpenReservation> granted,
      List<StoreSnapshot.OpenTicket> waiting,
      StoreSnapshot open,
      Map<Long, Long> bySecond,
      long tokens) {}

  LocalShareStore(
      String model,
      GovernorFleetMember fleet,
      ModelScripts scripts,
      StoreTimer timer,
      BudgetListener listener,
      LocalShareStore.OutageCallbacks callers) {
    this.model = model;
    this.fleet = fleet;
    this.scripts = scripts;
    this.timer = timer;
    this.listener = listener;
    this.callers = callers;
  }

  /** Decides by this node's share; empty if Redis decides, or if there is no share. */
  <T> Optional<T> decide(Function<OutageBudgetStore, CompletableFuture<T>> decision) {
    return whileOut(now -> ask(now, store -> GovernorFleetMember.now(decision.apply(store))))
        .flatMap(decided -> decided);
  }

  private static <T> Optional<T> ask(
      LocalShareStore.OutageRun now, Function<OutageBudgetStore, T> question) {
    OutageBudgetStore store = now.store;
    if (store == null) {
      return Optional.empty();
    }
    try {
      return Optional.ofNullable(question.apply(store));
    } catch (StoreClosedException closed) {
      if (now.store == store) {
        throw closed;
      }
      // A reload has ended the share meanwhile.
      return Optional.empty();
    }
  }

  private <T> Optional<T> whileOut(Function<LocalShareStore.OutageRun, T> decision) {
    return fleet.isLocal()
        ? fleet.connection().whileOut(() -> decision.apply(run()))
        : Optional.empty();
  }

  /** Opens the store, so that tickets are granted without a call. */
  void open() {
    whileOut(now -> true);
  }

  private LocalShareStore.OutageRun run() {
    LocalShareStore.OutageRun run = current;
    if (run != null) {
      return run;
    }
    synchronized (this) {
      if (current == null) {
        LocalShareStore.OutageRun next =
            new LocalShareStore.OutageRun(new BudgetShare(fleet.connection().share()), newCount());
        ModelBudget part = part(next.share);
        if (part != null) {
          openStore(next, part);
        }
        current = next;
      }
      return current;
    }
  }

  private OutageGrantCounter newCount() {
    return new OutageGrantCounter(listener, aheadNanos());
  }

  /** Returns how far the clock of Redis is ahead, as far as it is known. */
  private long aheadNanos() {
    return fleet.serverNanos() - timer.nanoTime();
  }

  private Map<Long, Long> bySecond(LocalShareStore.OutageRun now) {
    boolean wasMember = fleet.connection().view() != null;
    return wasMember ? now.count.bySecond() : now.count.bySecond(aheadNanos());
  }

  /** Returns this node's part of the budget; null if it has none. */
  private @Nullable ModelBudget part(BudgetShare share) {
    ModelBudget whole = callers.budget();
    return whole == null ? null : share.of(whole);
  }

  private void openStore(LocalShareStore.OutageRun next, ModelBudget part) {
    StoreSnapshot open = new StoreSnapshot(callers.open(), callers.waiting());
    for (StoreSnapshot.OpenReservation each : open.reservations()) {
      if (each.claimed()) {
        next.before.add(each.answer().reservation());
      } else {
        // From an earlier, unconfirmed outage: its end is reported again.
        next.tickets.add(ticketOf(each));
      }
    }
    List<StoreSnapshot.OpenTicket> served =
        open.tickets().stream()
            .filter(
                each -> next.share.hasTenant(scripts.config().budget(), each.request().tenant()))
            .toList();
    OutageBudgetStore store =
        LocalBudgetStore.forOutage(
            new LocalShareStore.NonClosingTimer(timer),
            config(part),
            next.count,
            new StoreSnapshot(open.reservations(), served));
    next.store = store;
    ProviderAdjustment inForce = callers.adjustment();
    if (inForce != null) {
      GovernorFleetMember.now(store.adjust(model, inForce));
    }
    for (StoreSnapshot.OpenTicket each : served) {
      if (GovernorFleetMember.now(store.owner(each.id())).isPresent()) {
        next.tickets.add(each.id());
        if (callers.isAwaited(ReplyMapper.idIn(each.id()))) {
          await(next, store, each.id());
        }
      }
    }
  }

  private BudgetConfig config(ModelBudget part) {
    return BudgetConfig.builder()
        .models(Map.of(model, part))
        .waitingList(scripts.config().waitingList())
        .build();
  }

  // ---- waiters

  /** Delivers the decision about a ticket to its waiters; returns false if it is unknown here. */
  boolean await(String ticket) {
    return whileOut(
            now ->
                ask(
                    now,
                    store -> {
                      if (GovernorFleetMember.now(store.owner(ticket)).isEmpty()) {
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
   * Undoes the claim of a decision that reached no waiter. Returns false if this node's share does
   * not decide any more.
   */
  boolean undelivered(String ticket) {
    return whileOut(
            now ->
                ask(
                    now,
                    store -> {
                      store.undelivered(ticket);
                      return true;
                    }))
        .flatMap(done -> done)
        .orElse(false);
  }

  private void await(LocalShareStore.OutageRun now, OutageBudgetStore store, String ticket) {
    if (!now.waiters.containsKey(ticket)) {
      CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
      now.waiters.put(ticket, waiter);
      var unused =
          waiter.thenAccept(outcome -> outcome.ifPresent(decided -> decided(now, ticket, decided)));
    }
  }

  private void decided(LocalShareStore.OutageRun now, String ticket, TokenDecision outcome) {
    synchronized (this) {
      now.waiters.remove(ticket);
      if (isOnlyForTheShare(outcome)) {
        // It keeps its place in Redis, which decides later.
        now.tickets.remove(ticket);
        return;
      }
    }
    callers.decided(ticket, outcome);
  }

  /** Returns whether it exceeds this node's share after a change of the configuration. */
  private static boolean isOnlyForTheShare(TokenDecision outcome) {
    return outcome instanceof TokenDecision.Impossible;
  }

  /** Returns whether Redis may have a ticket that is waiting here. */
  synchronized boolean isKnownToRedis(String ticket) {
    LocalShareStore.OutageRun now = current;
    return now != null && now.tickets.contains(ticket);
  }

  /** Cancels the wait for a ticket, which must be polled again. */
  void leave(String ticket) {
    CompletableFuture<?> waiter = null;
    synchronized (this) {
      LocalShareStore.OutageRun now = current;
      waiter = now == null ? null : now.waiters.remove(ticket);
    }
    if (waiter != null) {
      waiter.cancel(false);
    }
  }

  // ---- configuration

  /** Returns whether this node's share can serve a tenant at all. */
  boolean hasTenant(String tenant) {
    LocalShareStore.OutageRun now = current;
    ModelBudget whole = callers.budget();
    return whole != null && (now == null || now.share.hasTenant(whole, tenant));
  }

  void adjust(ProviderAdjustment adjustment) {
    LocalShareStore.OutageRun now = current;
    Long most = adjustment.maxTokens();
    ProviderAdjustment part =
        new ProviderAdjustment(
            adjustment.factor(),
            most == null || now == null ? null : (Long) now.share.part(most),
            adjustment.pause());
    decide(store -> store.adjust(model, part));
  }

  /** Applies the present configuration; without a share, local decisions end as by {@link #end}. */
  void reload() {
    var unused =
        whileOut(
            now -> {
              reload(now);
              return true;
            });
  }

  private synchronized void reload(LocalShareStore.OutageRun now) {
    OutageBudgetStore store = now.store;
    ModelBudget part = part(now.share);
    if (store != null && part == null) {
      callers.ended(handOver(now, store));
      current = new LocalShareStore.OutageRun(now.share, newCount());
    } else if (store != null && part != null) {
      GovernorFleetMember.now(store.reload(config(part)));
    } else if (part != null) {
      openStore(now, part);
    }
  }

  /** Records that a reservation of this node was settled at another node. */
  void settledElsewhere(String id) {
    LocalShareStore.OutageRun now = current;
    if (now != null && now.settledElsewhere.size() < MOST_SETTLED_ELSEWHERE) {
      now.settledElsewhere.add(id);
    }
  }

  // ---- the end

  /** Returns whether there is an outage that has not ended. */
  boolean isRunning() {
    return current != null;
  }

  /** Ends the outage: nothing is granted here any more. */
  synchronized void end() {
    LocalShareStore.OutageRun now = current;
    OutageBudgetStore store = now == null ? null : now.store;
    if (now != null && store != null) {
      // Under the lock, and before the run ends: the node must not return before this is stored.
      callers.ended(handOver(now, store));
    }
    current = null;
  }

  private LocalShareStore.OutageResult handOver(
      LocalShareStore.OutageRun now, OutageBudgetStore store) {
    now.store = null;
    StoreSnapshot left = withoutSettled(store.handOver(), now.settledElsewhere);
    Set<String> ended = new HashSet<>(now.tickets);
    left.tickets().forEach(each -> ended.remove(each.id()));
    left.reservations().forEach(each -> ended.remove(ticketOf(each)));
    return new LocalShareStore.OutageResult(
        List.copyOf(ended),
        left.reservations().stream()
            .filter(each -> !now.before.contains(each.answer().reservation()))
            .toList(),
        left.tickets().stream().filter(each -> !now.tickets.contains(each.id())).toList(),
        left,
        bySecond(now),
        now.count.granted());
  }

  private static StoreSnapshot withoutSettled(StoreSnapshot open, Set<String> settled) {
    return new StoreSnapshot(
        open.reservations().stream()
            .filter(each -> !settled.contains(ReplyMapper.idIn(each.answer().reservation())))
            .toList(),
        open.tickets());
  }

  private static String ticketOf(StoreSnapshot.OpenReservation grant) {
    String ticket = grant.ticket();
    return ticket == null ? "" : ticket;
  }

  /** The timer of the model store, which outlives this store. */
  private record NonClosingTimer(StoreTimer timer) implements StoreTimer {
    @Override
    public long nanoTime() {
      return timer.nanoTime();
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      timer.schedule(nanos, action);
    }

    @Override
    public void execute(Runnable action) {
      timer.execute(action);
    }

    @Override
    public void close() {}
  }
}
