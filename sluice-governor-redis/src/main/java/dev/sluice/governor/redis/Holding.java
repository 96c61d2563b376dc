package dev.sluice.governor.redis;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Has books that do not know them hold grants that this node has told of: one portion after the
 * other, so that Redis does each well within the time-out and other calls between them. What was
 * confirmed is not sent to the same books again, so that many are held in the end, however often a
 * portion is late. For any number of threads.
 */
final class Holding {
  /** So many at once: a script that holds them takes no longer than some milliseconds. */
  static final int PORTION = 100;

  private final Predicate<String> isOpen;

  // Guarded by this.
  private long generation;
  private Set<String> confirmed = new HashSet<>();

  /** Leaves out what is not open any more when its turn comes. */
  Holding(Predicate<String> isOpen) {
    this.isOpen = isOpen;
  }

  /** Done when books of that generation hold them all; fails with the first that is not sent. */
  CompletableFuture<Void> hold(
      long books,
      List<OpenGrants.Grant> grants,
      Function<String[], ? extends CompletableFuture<?>> send) {
    Sending sending = new Sending(books, left(books, grants), send);
    sending.goOn();
    return sending.done;
  }

  /** All are known there: nothing has to be remembered. */
  synchronized void end(long books) {
    if (generation == books) {
      confirmed = new HashSet<>();
    }
  }

  private synchronized List<OpenGrants.Grant> left(long books, List<OpenGrants.Grant> grants) {
    if (generation != books) {
      generation = books;
      confirmed = new HashSet<>();
    }
    return grants.stream().filter(each -> !confirmed.contains(each.id())).toList();
  }

  private synchronized void confirm(long books, List<OpenGrants.Grant> portion) {
    if (generation == books) {
      portion.forEach(each -> confirmed.add(each.id()));
    }
  }

  /** What one call of {@link #hold} sends; of one thread at a time. */
  private final class Sending {
    final CompletableFuture<Void> done = new CompletableFuture<>();
    private final long books;
    private final List<OpenGrants.Grant> grants;
    private final Function<String[], ? extends CompletableFuture<?>> send;
    private int at;

    Sending(
        long books,
        List<OpenGrants.Grant> grants,
        Function<String[], ? extends CompletableFuture<?>> send) {
      this.books = books;
      this.grants = grants;
      this.send = send;
    }

    /** Whatever is thrown ends it: nobody would be told. */
    void goOn() {
      try {
        next();
      } catch (RuntimeException | Error failure) {
        done.completeExceptionally(failure);
      }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it goes on with the next one
    private void next() {
      List<OpenGrants.Grant> portion = new ArrayList<>();
      for (; at < grants.size() && portion.size() < PORTION; at++) {
        if (isOpen.test(grants.get(at).id())) {
          portion.add(grants.get(at));
        }
      }
      if (portion.isEmpty()) {
        done.complete(null);
        return;
      }
      send.apply(portion.stream().flatMap(each -> each.words().stream()).toArray(String[]::new))
          .whenComplete(
              (answer, failure) -> {
                if (failure == null) {
                  confirm(books, portion);
                  goOn();
                } else {
                  done.completeExceptionally(failure);
                }
              });
    }
  }
}
