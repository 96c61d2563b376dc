package dev.sluice.governor.redis.internal.store;

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
 * Reports of outages of one model that Redis has not confirmed. They are sent in order, with
 * numbers, so that a report that is sent twice counts once. Thread-safe.
 */
final class OutageReports {
  /** The most reservations or tickets of one call, which must not block others for long. */
  private static final int PORTION = 500;

  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final Callers callers;

  /** Written under the lock of this. Every call to Redis checks whether it is empty. */
  private final Queue<Report> pending = new ConcurrentLinkedQueue<>();

  // Guarded by this.
  private long number;

  /** The open reservations and tickets of the last outage, until Redis has confirmed them. */
  private StoreSnapshot unconfirmed = StoreSnapshot.NONE;

  /** The state of the callers of this node, by the short ids of reservations and tickets. */
  interface Callers {
    /** Returns whether a reservation was not settled since it was added to a report. */
    boolean isOpen(String id);

    /** Returns whether a caller of this node waits for a ticket. */
    boolean isAwaited(String id);

    /** Receives the id of a reservation that another node has settled. */
    void ended(String id);
  }

  /** One call. */
  private record Report(
      long number,
      List<String> ended,
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
   * Adds the result of one outage.
   *
   * @param keys the keys for which Redis may have a grant that was not delivered
   */
  synchronized void add(LocalShareStore.OutageResult result, List<IdempotencyKey> keys) {
    unconfirmed = result.open();
    List<StoreSnapshot.OpenReservation> granted = result.granted();
    List<StoreSnapshot.OpenTicket> waiting = result.waiting();
    int most =
        Math.max(
            Math.max(result.ended().size(), keys.size()), Math.max(granted.size(), waiting.size()));
    for (int from = 0; from == 0 || from < most; from += PORTION) {
      pending.add(
          new Report(
              ++number,
              portion(result.ended(), from),
              portion(keys, from),
              portion(granted, from),
              portion(waiting, from),
              from == 0 ? result.bySecond() : Map.of()));
    }
  }

  /** Returns the arguments of {@link GovernorScript#REPORT} at this moment. */
  private String[] arguments(Report report) {
    List<String> arguments = new ArrayList<>(List.of(Long.toString(report.number())));
    // A grant that was settled since has ended, too: its ticket must leave the waiting list.
    List<String> ended = new ArrayList<>(report.ended());
    List<StoreSnapshot.OpenReservation> open = new ArrayList<>();
    for (StoreSnapshot.OpenReservation grant : report.granted()) {
      if (!grant.claimed() || callers.isOpen(ReplyMapper.idIn(grant.answer().reservation()))) {
        open.add(grant);
      } else {
        ended.add(grant.answer().reservation());
      }
    }
    addList(arguments, ended.stream().map(id -> List.of(ReplyMapper.idIn(id))).toList());
    addList(
        arguments, report.keys().stream().map(key -> List.of(key.tenant(), key.key())).toList());
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

  private static List<String> arguments(StoreSnapshot.OpenReservation grant) {
    String key = grant.request().idempotencyKey();
    return List.of(
        ReplyMapper.idIn(grant.answer().reservation()),
        Long.toString(grant.answer().tokens()),
        Long.toString(grant.answer().requestedTokens()),
        grant.answer().priorityClass(),
        grant.request().tenant(),
        key == null ? "" : key,
        grant.ticket() == null ? "" : "ticket",
        grant.claimed() ? "" : "unclaimed");
  }

  private List<String> arguments(StoreSnapshot.OpenTicket place) {
    String key = place.request().idempotencyKey();
    long now = timer.nanoTime();
    long wait = place.deadline() == Long.MAX_VALUE ? 0 : Math.max(1_000, place.deadline() - now);
    String id = ReplyMapper.idIn(place.id());
    return List.of(
        id,
        Long.toString(place.tokens()),
        Long.toString(place.request().tokens()),
        place.request().priorityClass(),
        place.request().tenant(),
        key == null ? "" : key,
        Long.toString(TimeUnit.NANOSECONDS.toMicros(wait)),
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

  private synchronized StoreSnapshot unconfirmed() {
    return unconfirmed;
  }

  /** Returns unclaimed grants that Redis may not have. */
  List<StoreSnapshot.OpenReservation> unclaimed() {
    return unconfirmed().reservations().stream().filter(each -> !each.claimed()).toList();
  }

  /** Returns awaited tickets and those that Redis may not have, by the time of the request. */
  List<StoreSnapshot.OpenTicket> withUnconfirmed(List<StoreSnapshot.OpenTicket> awaited) {
    List<StoreSnapshot.OpenTicket> all = new ArrayList<>(awaited);
    Set<String> ids =
        awaited.stream().map(StoreSnapshot.OpenTicket::id).collect(Collectors.toSet());
    int at = 0;
    for (StoreSnapshot.OpenTicket each :
        unconfirmed().tickets().stream().sorted(OutageReports::inOrder).toList()) {
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

  /** Ends a reservation that Redis does not know, unless it is to be reported. */
  void unknown(String id) {
    if (!hasGranted(id)) {
      callers.ended(id);
    }
  }

  /** Returns whether Redis may have a reservation from a report that it has not confirmed. */
  boolean hasGranted(String id) {
    return pending.stream()
        .flatMap(each -> each.granted().stream())
        .anyMatch(grant -> ReplyMapper.idIn(grant.answer().reservation()).equals(id));
  }

  private synchronized @Nullable Report first() {
    return pending.peek();
  }

  private synchronized void confirm(Report report) {
    Report first = first();
    if (first != null && first.number() == report.number()) {
      pending.remove();
      unconfirmed = isEmpty() ? StoreSnapshot.NONE : unconfirmed;
    }
  }

  /** Ends a reported grant; one that was claimed later is in a later report. */
  private void ended(Report report, String id) {
    if (report.granted().stream()
        .anyMatch(
            grant ->
                grant.claimed() && ReplyMapper.idIn(grant.answer().reservation()).equals(id))) {
      callers.ended(id);
    }
  }

  /** Sends all reports in order; fails with the first that is not answered. */
  CompletableFuture<Void> send() {
    Report next = first();
    if (next == null) {
      return CompletableFuture.allOf();
    }
    return scripts
        .callDuringReturn(GovernorScript.REPORT, arguments(next))
        .handle(
            (answer, failure) -> {
              if (failure != null) {
                PermanentErrors.dropOrRethrow("a report of an outage", failure);
              } else {
                answer.result().parts().stream().skip(1).forEach(id -> ended(next, (String) id));
              }
              confirm(next);
              return true;
            })
        .thenCompose(confirmed -> send());
  }
}
