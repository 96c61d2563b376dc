package dev.sluice.governor.redis.store;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.local.LocalBudgetStore;
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
 * Decides for one model while Redis is away: the store of a single process with this node's share
 * of the budget, from empty, which begins with the reservations and the awaited tickets of this
 * node, and with what it left in an earlier outage of which Redis has not confirmed the report.
 * Thread-safe.
 */
final class LocalShareStore {
  /*
   * A store is opened and asked inside FleetConnection.whileOut, so Redis has reserved the share by then. It grants
   * nothing after `end`, which comes before the heartbeat that frees the share.
   */

  /** A message may come for each settlement of the fleet. */
  private static final int MOST_SETTLED_ELSEWHERE = 100_000;

  private final String model;
  private final GovernorFleetMember fleet;
  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final BudgetListener listener;
  private final LocalShareStore.OutageCallbacks callers;

  /** Of the outage that goes on; null if none was needed yet. Written under the lock of this. */
  private volatile LocalShareStore.@Nullable OutageRun begun;

  /** The state that this node keeps for its callers. */
  interface OutageCallbacks {
    /** Returns what was granted to them and is not settled, and what they have not claimed yet. */
    List<StoreSnapshot.OpenReservation> open();

    /** Returns the tickets in line, in order. */
    List<StoreSnapshot.OpenTicket> inLine();

    /** Returns whether a caller of this node waits for a ticket. */
    boolean isAwaited(String id);

    /** Returns what the provider said and holds; null for nothing. */
    @Nullable ProviderAdjustment adjustment();

    /** Returns the budget of the model; null if the model was removed. */
    @Nullable ModelBudget budget();

    /** A ticket that they wait for is decided. */
    void decided(String ticket, TokenDecision outcome);

    /** Local decisions have ended. Called under a lock: takes only locks of what is kept here. */
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
   * @param over tickets of Redis that were granted and settled here, or have left the line
   * @param granted reservations that this node made and that are not settled
   * @param waiting tickets that this node made and that are in line
   * @param left everything that was open at the end
   * @param bySecond tokens granted here by second of the time of Redis
   * @param tokens tokens granted here
   */
  record OutageResult(
      List<String> over,
      List<StoreSnapshot.OpenReservation> granted,
      List<StoreSnapshot.OpenTicket> waiting,
      StoreSnapshot left,
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
        ? fleet.connection().whileOut(() -> decision.apply(begin()))
        : Optional.empty();
  }

  /** Opens the store, so that tickets are granted though nobody asks. */
  void open() {
    whileOut(now -> true);
  }

  private LocalShareStore.OutageRun begin() {
    LocalShareStore.OutageRun present = begun;
    if (present != null) {
      return present;
    }
    synchronized (this) {
      if (begun == null) {
        LocalShareStore.OutageRun next =
            new LocalShareStore.OutageRun(new BudgetShare(fleet.connection().share()), newCount());
        ModelBudget part = part(next.share);
        if (part != null) {
          openStore(next, part);
        }
        begun = next;
      }
      return begun;
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
    StoreSnapshot open = new StoreSnapshot(callers.open(), callers.inLine());
    for (StoreSnapshot.OpenReservation each : open.reservations()) {
      if (each.claimed()) {
        next.before.add(each.answer().reservation());
      } else {
        // Of an earlier outage, and not confirmed: what becomes of it is reported again.
        next.tickets.add(ticketOf(each));
      }
    }
    List<StoreSnapshot.OpenTicket> served =
        open.tickets().stream()
            .filter(each -> next.share.hasTenant(scripts.config().budget(), each.request().tenant()))
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

  // ---- callers that wait

  /** Tells the callers what becomes of a ticket; false if it is not known here. */
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
   * No caller has heard what became of a ticket: it has to be asked for again. False if this node's
   * share does not decide any more.
   */
  boolean unheard(String ticket) {
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
        // It keeps its place in Redis, and is told later.
        now.tickets.remove(ticket);
        return;
      }
    }
    callers.decided(ticket, outcome);
  }

  /** Returns whether it exceeds this node's share after a change of the rules. */
  private static boolean isOnlyForTheShare(TokenDecision outcome) {
    return outcome instanceof TokenDecision.Impossible;
  }

  /** Cancels the wait for a ticket, which must be polled again. */
  void leave(String ticket) {
    CompletableFuture<?> waiter = null;
    synchronized (this) {
      LocalShareStore.OutageRun now = begun;
      waiter = now == null ? null : now.waiters.remove(ticket);
    }
    if (waiter != null) {
      waiter.cancel(false);
    }
  }

  // ---- rules

  /** Returns whether this node's share can serve a tenant at all. */
  boolean hasTenant(String tenant) {
    LocalShareStore.OutageRun now = begun;
    ModelBudget whole = callers.budget();
    return whole != null && (now == null || now.share.hasTenant(whole, tenant));
  }

  void adjust(ProviderAdjustment adjustment) {
    LocalShareStore.OutageRun now = begun;
    Long most = adjustment.maxTokens();
    ProviderAdjustment part =
        new ProviderAdjustment(
            adjustment.factor(),
            most == null || now == null ? null : (Long) now.share.part(most),
            adjustment.pause());
    decide(store -> store.adjust(model, part));
  }

  /** Goes by the present rules; if they leave no share, local decisions end as by {@link #end}. */
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
      begun = new LocalShareStore.OutageRun(now.share, newCount());
    } else if (store != null && part != null) {
      GovernorFleetMember.now(store.reload(config(part)));
    } else if (part != null) {
      openStore(now, part);
    }
  }

  /** Redis does not have to hold a reservation of this node any more. */
  void settledElsewhere(String id) {
    LocalShareStore.OutageRun now = begun;
    if (now != null && now.settledElsewhere.size() < MOST_SETTLED_ELSEWHERE) {
      now.settledElsewhere.add(id);
    }
  }

  // ---- the end

  /** Returns whether there is an outage that has not ended. */
  boolean hasBegun() {
    return begun != null;
  }

  /** Ends the outage: nothing is granted here any more. */
  synchronized void end() {
    LocalShareStore.OutageRun now = begun;
    OutageBudgetStore store = now == null ? null : now.store;
    if (now != null && store != null) {
      // Under the lock, and begun until then: the node does not return before this is kept.
      callers.ended(handOver(now, store));
    }
    begun = null;
  }

  private LocalShareStore.OutageResult handOver(
      LocalShareStore.OutageRun now, OutageBudgetStore store) {
    now.store = null;
    StoreSnapshot left = withoutSettled(store.handOver(), now.settledElsewhere);
    Set<String> over = new HashSet<>(now.tickets);
    left.tickets().forEach(each -> over.remove(each.id()));
    left.reservations().forEach(each -> over.remove(ticketOf(each)));
    return new LocalShareStore.OutageResult(
        List.copyOf(over),
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

  private static String ticketOf(StoreSnapshot.OpenReservation held) {
    String ticket = held.ticket();
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
