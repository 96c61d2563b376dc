package dev.sluice.governor.redis.store;

import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of this node about one model in outages that Redis has not confirmed. Sent in
 * order, with numbers, so that a report that is sent twice counts once. Thread-safe.
 */
final class OutageReports {
  /** So many reservations or tickets at once: a call must not hold up others for long. */
  private static final int PORTION = 500;

  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final Callers callers;

  /** Changed under the lock of this. Every call to Redis asks whether it is empty. */
  private final Queue<Report> pending = new ConcurrentLinkedQueue<>();

  // Guarded by this.
  private long number;

  /** The rest of the last outage, until Redis has confirmed it and decides about it. */
  private StoreSnapshot left = StoreSnapshot.NONE;

  /**
   * The state that this node keeps for its callers, by the short ids of reservations and tickets.
   */
  interface Callers {
    /** Returns whether a reservation is not settled: it may have been since it was reported. */
    boolean isOpen(String id);

    /** Returns whether a caller of this node waits for a ticket. */
    boolean isAwaited(String id);

    /** Another node has settled a reservation. */
    void over(String id);
  }

  /** One call. */
  private record Report(
      long number,
      List<String> over,
      List<IdempotencyKey> keys,
      List<StoreSnapshot.OpenReservation> granted,
      List<StoreSnapshot.OpenTicket> waiting,
      Map<Long, Long> bySecond) {}

  OutageReports(ModelScripts scripts, StoreTimer timer, Callers callers) {
    this.scripts = scripts;
    this.timer = timer;
    this.callers = callers;
  }

  /**
   * Adds what became of one outage.
   *
   * @param keys those for which Redis may have granted something of which no caller was told
   */
  synchronized void add(LocalShareStore.OutageResult ended, List<IdempotencyKey> keys) {
    left = ended.left();
    List<StoreSnapshot.OpenReservation> granted = ended.granted();
    List<StoreSnapshot.OpenTicket> waiting = ended.waiting();
    int most =
        Math.max(
            Math.max(ended.over().size(), keys.size()), Math.max(granted.size(), waiting.size()));
    for (int from = 0; from == 0 || from < most; from += PORTION) {
      pending.add(
          new Report(
              ++number,
              portion(ended.over(), from),
              portion(keys, from),
              portion(granted, from),
              portion(waiting, from),
              from == 0 ? ended.bySecond() : Map.of()));
    }
  }

  /** As the script has it, at this moment. */
  private String[] arguments(Report report) {
    List<String> arguments = new ArrayList<>(List.of(Long.toString(report.number())));
    // A grant that was settled since the outage ended is over, too: its ticket must leave the line.
    List<String> over = new ArrayList<>(report.over());
    List<StoreSnapshot.OpenReservation> open = new ArrayList<>();
    for (StoreSnapshot.OpenReservation held : report.granted()) {
      if (!held.claimed() || callers.isOpen(ReplyMapper.idIn(held.answer().reservation()))) {
        open.add(held);
      } else {
        over.add(held.answer().reservation());
      }
    }
    addList(arguments, over.stream().map(id -> List.of(ReplyMapper.idIn(id))).toList());
    addList(arguments, report.keys().stream().map(key -> List.of(key.tenant(), key.key())).toList());
    addList(arguments, open.stream().map(OutageReports::arguments).toList());
    addList(arguments, report.waiting().stream().map(this::arguments).toList());
    addList(arguments, arguments(report.bySecond()));
    return arguments.toArray(String[]::new);
  }

  private static <T> List<T> portion(List<T> all, int from) {
    return all.subList(Math.min(from, all.size()), Math.min(from + PORTION, all.size()));
  }

  private static void addList(List<String> arguments, Collection<List<String>> entries) {
    arguments.add(Integer.toString(entries.size()));
    entries.forEach(arguments::addAll);
  }

  private static List<String> arguments(StoreSnapshot.OpenReservation held) {
    String key = held.request().idempotencyKey();
    return List.of(
        ReplyMapper.idIn(held.answer().reservation()),
        Long.toString(held.answer().tokens()),
        Long.toString(held.answer().requestedTokens()),
        held.answer().priorityClass(),
        held.request().tenant(),
        key == null ? "" : key,
        held.ticket() == null ? "" : "ticket",
        held.claimed() ? "" : "unclaimed");
  }

  private List<String> arguments(StoreSnapshot.OpenTicket place) {
    String key = place.request().idempotencyKey();
    long now = timer.nanoTime();
    long left = place.deadline() == Long.MAX_VALUE ? 0 : Math.max(1_000, place.deadline() - now);
    String id = ReplyMapper.idIn(place.id());
    return List.of(
        id,
        Long.toString(place.tokens()),
        Long.toString(place.request().tokens()),
        place.request().priorityClass(),
        place.request().tenant(),
        key == null ? "" : key,
        Long.toString(TimeUnit.NANOSECONDS.toMicros(left)),
        Long.toString(TimeUnit.NANOSECONDS.toMicros(now - place.since())),
        callers.isAwaited(id) ? "awaited" : "");
  }

  private static List<List<String>> arguments(Map<Long, Long> bySecond) {
    List<List<String>> all = new ArrayList<>();
    bySecond.forEach(
        (second, tokens) -> all.add(List.of(Long.toString(second), Long.toString(tokens))));
    return all;
  }

  boolean isEmpty() {
    return pending.isEmpty();
  }

  private synchronized StoreSnapshot left() {
    return left;
  }

  /** Returns grants that no caller has claimed, and of which Redis may not know. */
  List<StoreSnapshot.OpenReservation> unclaimed() {
    return left().reservations().stream().filter(each -> !each.claimed()).toList();
  }

  /**
   * Returns awaited tickets with those of which Redis may not know, by when they were asked for.
   */
  List<StoreSnapshot.OpenTicket> inLineWith(List<StoreSnapshot.OpenTicket> awaited) {
    List<StoreSnapshot.OpenTicket> all = new ArrayList<>(awaited);
    Set<String> ids =
        awaited.stream().map(StoreSnapshot.OpenTicket::id).collect(Collectors.toSet());
    int at = 0;
    for (StoreSnapshot.OpenTicket each :
        left().tickets().stream().sorted(OutageReports::inOrder).toList()) {
      while (at < all.size() && inOrder(all.get(at), each) <= 0) {
        at++;
      }
      if (ids.add(each.id())) {
        all.add(at++, each);
      }
    }
    return all;
  }

  private static int inOrder(StoreSnapshot.OpenTicket one, StoreSnapshot.OpenTicket other) {
    return Long.signum(one.since() - other.since());
  }

  /** Redis does not know a reservation: it was settled elsewhere, unless it is to be reported. */
  void unknown(String id) {
    if (!hasGranted(id)) {
      callers.over(id);
    }
  }

  /** Returns whether Redis may have a reservation from a report that it has not confirmed. */
  boolean hasGranted(String id) {
    return pending.stream()
        .flatMap(each -> each.granted().stream())
        .anyMatch(held -> ReplyMapper.idIn(held.answer().reservation()).equals(id));
  }

  private synchronized @Nullable Report first() {
    return pending.peek();
  }

  private synchronized void confirm(Report report) {
    Report first = first();
    if (first != null && first.number() == report.number()) {
      pending.remove();
      left = isEmpty() ? StoreSnapshot.NONE : left;
    }
  }

  /** A later report tells of a grant that was claimed after this one. */
  private void over(Report report, String id) {
    if (report.granted().stream()
        .anyMatch(
            held -> held.claimed() && ReplyMapper.idIn(held.answer().reservation()).equals(id))) {
      callers.over(id);
    }
  }

  /** Sends them one after the other; fails with the first that is not answered. */
  CompletableFuture<Void> send() {
    Report next = first();
    if (next == null) {
      return CompletableFuture.allOf();
    }
    return scripts
        .tell(GovernorScript.REPORT, arguments(next))
        .handle(
            (answer, failure) -> {
              if (failure != null) {
                PermanentErrors.dropOrRethrow("a report of an outage", failure);
              } else {
                answer.result().parts().stream().skip(1).forEach(id -> over(next, (String) id));
              }
              confirm(next);
              return true;
            })
        .thenCompose(confirmed -> send());
  }
}
