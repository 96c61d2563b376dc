package dev.sluice.governor.redis;

import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.OpenWork;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * What this node has decided about one model in outages and Redis has not confirmed. Sent in order,
 * numbered so that a report that is sent twice counts once. Thread-safe.
 */
final class Reports {
  /** So many reservations or tickets at once: a call must not hold up others for long. */
  private static final int PORTION = 500;

  private final ModelBooks books;
  private final GovernorTimer timer;

  // Guarded by this.
  private final Queue<String[]> unconfirmed = new ArrayDeque<>();
  private long number;

  Reports(ModelBooks books, GovernorTimer timer) {
    this.books = books;
    this.timer = timer;
  }

  /**
   * Adds what became of one outage.
   *
   * @param isAwaited whether a caller of this node waits for a ticket, by its short id
   */
  synchronized void add(LocalDesk.Ended ended, Predicate<String> isAwaited) {
    List<String> over = ended.over();
    List<OpenWork.Held> granted = ended.granted();
    List<OpenWork.Place> waiting = ended.waiting();
    int most = Math.max(over.size(), Math.max(granted.size(), waiting.size()));
    for (int from = 0; from == 0 || from < most; from += PORTION) {
      List<String> words = new ArrayList<>(List.of(Long.toString(++number)));
      addList(words, portion(over, from).stream().map(id -> List.of(Replies.idIn(id))).toList());
      addList(words, portion(granted, from).stream().map(Reports::words).toList());
      addList(
          words, portion(waiting, from).stream().map(place -> words(place, isAwaited)).toList());
      addList(words, from == 0 ? words(ended.bySecond()) : List.of());
      unconfirmed.add(words.toArray(String[]::new));
    }
  }

  private static <T> List<T> portion(List<T> all, int from) {
    return all.subList(Math.min(from, all.size()), Math.min(from + PORTION, all.size()));
  }

  private static void addList(List<String> words, Collection<List<String>> entries) {
    words.add(Integer.toString(entries.size()));
    entries.forEach(words::addAll);
  }

  private static List<String> words(OpenWork.Held held) {
    String key = held.request().idempotencyKey();
    return List.of(
        Replies.idIn(held.answer().reservation()),
        Long.toString(held.answer().tokens()),
        Long.toString(held.answer().requestedTokens()),
        held.answer().priority(),
        held.request().tenant(),
        key == null ? "" : key,
        held.ticket() == null ? "" : "ticket",
        held.claimed() ? "" : "unclaimed");
  }

  private List<String> words(OpenWork.Place place, Predicate<String> isAwaited) {
    String key = place.request().idempotencyKey();
    long now = timer.now();
    long left = place.deadline() == Long.MAX_VALUE ? 0 : Math.max(1_000, place.deadline() - now);
    String id = Replies.idIn(place.id());
    return List.of(
        id,
        Long.toString(place.tokens()),
        Long.toString(place.request().tokens()),
        place.request().priority(),
        place.request().tenant(),
        key == null ? "" : key,
        Long.toString(TimeUnit.NANOSECONDS.toMicros(left)),
        Long.toString(TimeUnit.NANOSECONDS.toMicros(now - place.since())),
        isAwaited.test(id) ? "awaited" : "");
  }

  private static List<List<String>> words(Map<Long, Long> bySecond) {
    List<List<String>> all = new ArrayList<>();
    bySecond.forEach(
        (second, tokens) -> all.add(List.of(Long.toString(second), Long.toString(tokens))));
    return all;
  }

  synchronized boolean isEmpty() {
    return unconfirmed.isEmpty();
  }

  private synchronized String[] first() {
    String[] first = unconfirmed.peek();
    return first == null ? new String[0] : first;
  }

  private synchronized void confirm(String[] report) {
    if (first() == report) {
      unconfirmed.remove();
    }
  }

  /** Sends them one after the other; fails with the first that is not answered. */
  CompletableFuture<Void> send() {
    String[] next = first();
    if (next.length == 0) {
      return CompletableFuture.allOf();
    }
    return books
        .tell(Script.REPORT, next)
        .handle(
            (answer, failure) -> {
              if (failure != null) {
                Refusals.dropOrRethrow("a report of an outage", failure);
              }
              confirm(next);
              return true;
            })
        .thenCompose(confirmed -> send());
  }
}
