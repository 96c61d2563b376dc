package dev.sluice.redis;

import dev.sluice.redis.link.RedisLink;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Charges limits what this node granted in outages.
 *
 * <p>A charge is repeated until it is confirmed; its number sees to it that it counts once.
 */
final class Charges {
  /** How many are sent at a time: Redis does them well within the time-out. */
  static final int AT_ONCE = 256;

  private final RedisLink link;
  private final RuleBook book;
  private final Counts counts;
  private final String node;
  private final AtomicLong numbers = new AtomicLong();

  /** What Redis has not confirmed, by number: the order in which it must see them. */
  private final Map<Long, Shares.Charge> unconfirmed = new ConcurrentSkipListMap<>();

  Charges(RedisLink link, RuleBook book, Counts counts, String node) {
    this.link = link;
    this.book = book;
    this.counts = counts;
    this.node = node;
  }

  /** Whether Redis has confirmed all. */
  boolean isSettled() {
    return unconfirmed.isEmpty();
  }

  /** Sends them; fails if one is not confirmed. */
  CompletableFuture<Void> send(List<Shares.Charge> charges) {
    return allOf(charges.stream().map(charge -> send(numbers.incrementAndGet(), charge)));
  }

  /** Sends what is not confirmed once more, the oldest first. */
  CompletableFuture<Void> sendAgain() {
    return allOf(
        unconfirmed.entrySet().stream()
            .limit(AT_ONCE)
            .map(entry -> send(entry.getKey(), entry.getValue())));
  }

  private static CompletableFuture<Void> allOf(Stream<CompletableFuture<Void>> all) {
    return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
  }

  private CompletableFuture<Void> send(long number, Shares.Charge charge) {
    unconfirmed.put(number, charge);
    String[] arguments = {
      node,
      Long.toString(number),
      Long.toString(charge.charged()),
      Long.toString(book.rules().version()),
      charge.quota().params()
    };
    return link.probe(Script.CHARGE, new String[] {charge.key()}, arguments)
        .thenAccept(
            answer -> {
              if (unconfirmed.remove(number) != null) {
                counts.chargedTokens.add(charge.charged());
              }
            })
        .exceptionally(
            failure -> {
              // What Redis refuses once, such as a key of another kind, it refuses always.
              if (!RedisLink.isRefusal(failure)) {
                throw new CompletionException(failure);
              }
              unconfirmed.remove(number);
              return null;
            });
  }
}
