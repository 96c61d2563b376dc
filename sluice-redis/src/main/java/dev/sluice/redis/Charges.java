package dev.sluice.redis;

import dev.sluice.redis.link.RedisLink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Charges limits what this node granted in outages.
 *
 * <p>A charge is repeated until it is confirmed; its number sees to it that it counts once. Of one
 * key Redis must see them in order, so those that are not confirmed go before a new one.
 */
final class Charges {
  /** How many are sent at a time: Redis does them well within the time-out. */
  static final int AT_ONCE = 256;

  private final RedisLink link;
  private final RuleBook book;
  private final Counts counts;
  private final String node;
  private final boolean inParts;
  private final Consumer<Shares.Charge> lost;
  private final AtomicLong numbers = new AtomicLong();

  /** What Redis has not confirmed: by key, then by number. */
  private final Map<String, NavigableMap<Long, Shares.Charge>> unconfirmed =
      new ConcurrentHashMap<>();

  /**
   * None at first.
   *
   * @param lost is told of each that was not answered by a part of a cluster; null if there are
   *     none
   */
  Charges(
      RedisLink link,
      RuleBook book,
      Counts counts,
      String node,
      @Nullable Consumer<Shares.Charge> lost) {
    this.link = link;
    this.book = book;
    this.counts = counts;
    this.node = node;
    this.inParts = lost != null;
    this.lost = lost == null ? charge -> {} : lost;
  }

  /** Whether Redis has confirmed all. */
  boolean isSettled() {
    return unconfirmed.isEmpty();
  }

  /** Whether Redis has not confirmed all of a key. */
  boolean owes(String place) {
    return unconfirmed.containsKey(place);
  }

  /** Keys of which Redis has not confirmed all, with their limits. */
  Map<String, Quota> owed() {
    Map<String, Quota> owed = new HashMap<>();
    unconfirmed.forEach(
        (place, charges) -> charges.values().forEach(each -> owed.put(place, each.quota())));
    return owed;
  }

  /** Sends them; fails if one is not confirmed. */
  CompletableFuture<Void> send(List<Shares.Charge> charges) {
    List<CompletableFuture<Void>> all = new ArrayList<>(charges.size());
    for (Shares.Charge charge : charges) {
      if (owes(charge.key())) {
        all.add(sendAgain(charge.key()));
      }
      long number = numbers.incrementAndGet();
      note(number, charge);
      all.add(send(number, charge));
    }
    return allOf(all.stream());
  }

  /** {@link #send(List)} before who asks Redis next; what is not confirmed is sent again. */
  void sendLast(List<Shares.Charge> charges) {
    CompletableFuture<Void> sent = send(charges);
    sent.isDone();
  }

  /** Sends what is not confirmed of some keys once more. */
  CompletableFuture<Void> sendAgain() {
    List<String> some = unconfirmed.keySet().stream().limit(AT_ONCE).toList();
    return allOf(some.stream().map(this::sendAgain));
  }

  /** Sends what is not confirmed of one key once more, the oldest first. */
  CompletableFuture<Void> sendAgain(String place) {
    NavigableMap<Long, Shares.Charge> open = unconfirmed.get(place);
    return open == null
        ? CompletableFuture.allOf()
        : allOf(
            List.copyOf(open.entrySet()).stream()
                .map(entry -> send(entry.getKey(), entry.getValue())));
  }

  private static CompletableFuture<Void> allOf(Stream<CompletableFuture<Void>> all) {
    return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
  }

  private CompletableFuture<Void> send(long number, Shares.Charge charge) {
    String[] arguments = {
      node,
      Long.toString(number),
      Long.toString(charge.charged()),
      Long.toString(book.rules().version()),
      charge.quota().params()
    };
    String[] keys = {charge.key()};
    // While Redis decides, many that are late at once would be an outage; a part has only itself.
    CompletableFuture<List<Object>> asked =
        link.isAvailable() && !inParts
            ? link.slow(Script.CHARGE, keys, arguments)
            : link.probe(Script.CHARGE, keys, arguments);
    return asked
        .thenAccept(
            answer -> {
              if (forget(number, charge)) {
                counts.chargedTokens.add(charge.charged());
              }
            })
        .exceptionally(
            failure -> {
              // What Redis refuses once, such as a key of another kind, it refuses always.
              if (!RedisLink.isRefusal(failure)) {
                lost.accept(charge);
                throw new CompletionException(failure);
              }
              forget(number, charge);
              return null;
            });
  }

  private void note(long number, Shares.Charge charge) {
    unconfirmed.compute(
        charge.key(),
        (place, open) -> {
          NavigableMap<Long, Shares.Charge> all =
              open == null ? new ConcurrentSkipListMap<>() : open;
          all.put(number, charge);
          return all;
        });
  }

  /** False if it was confirmed before. */
  private boolean forget(long number, Shares.Charge charge) {
    boolean[] was = {false};
    unconfirmed.computeIfPresent(
        charge.key(),
        (place, open) -> {
          was[0] = open.remove(number) != null;
          return open.isEmpty() ? null : open;
        });
    return was[0];
  }
}
