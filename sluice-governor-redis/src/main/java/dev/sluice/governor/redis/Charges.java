package dev.sluice.governor.redis;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/**
 * Charges a model what this node granted in outages. A charge is repeated until it is confirmed;
 * its number sees to it that it counts once, as long as Redis sees them in order.
 */
final class Charges {
  private final ModelBooks books;
  private final AtomicLong numbers = new AtomicLong();
  private final Map<Long, Unconfirmed> unconfirmed = new ConcurrentSkipListMap<>();
  private final Predicate<String> isOpen;

  private record Unconfirmed(Charge charge, long pauseMicros) {}

  /** Does not have held what is not open any more when it is sent. */
  Charges(ModelBooks books, Predicate<String> isOpen) {
    this.books = books;
    this.isOpen = isOpen;
  }

  /** To be sent by the next {@link #send}. */
  void add(Charge charge, long pauseMicros) {
    unconfirmed.put(numbers.incrementAndGet(), new Unconfirmed(charge, pauseMicros));
  }

  boolean isSettled() {
    return unconfirmed.isEmpty();
  }

  /** Sends all that are not confirmed, the oldest first; fails if one is not confirmed. */
  CompletableFuture<Void> send() {
    return CompletableFuture.allOf(
        unconfirmed.entrySet().stream()
            .map(each -> send(each.getKey(), each.getValue()))
            .toArray(CompletableFuture<?>[]::new));
  }

  private CompletableFuture<Void> send(long number, Unconfirmed each) {
    return books
        .probe(Script.CHARGE, each.charge().words(number, each.pauseMicros(), isOpen))
        .handle(
            (answer, failure) -> {
              if (failure != null) {
                Refusals.dropOrRethrow("a charge", failure);
              }
              unconfirmed.remove(number);
              return null;
            });
  }
}
