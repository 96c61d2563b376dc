package dev.sluice.broker;

import static dev.sluice.broker.Checks.requireBetween;

import dev.sluice.KeyStats;
import dev.sluice.ThrottleStats;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How a broker stands, for those who look on: what is asked here takes little of its time however
 * many keys there are.
 *
 * @since 0.1
 */
public final class BrokerView {
  /** The most keys that one call tells of. */
  public static final int MAX_KEYS = 10_000;

  private static final int MAX_MESSAGES = 1_000;

  /** Messages are delivered in between. */
  private static final int PIECE = 500;

  private final Machinery machinery;

  BrokerView(Machinery machinery) {
    this.machinery = machinery;
  }

  /**
   * Returns when the broker has answered, whatever else it has.
   *
   * @throws BrokerException if it has stopped
   */
  public void requireAnswer() {
    machinery.ask(engine -> true);
  }

  /**
   * How all queues stand, those of dead letters too.
   *
   * @return by name, without their keys
   */
  public SortedMap<String, QueueStats> queues() {
    return machinery.ask(
        engine -> {
          SortedMap<String, QueueStats> all = new TreeMap<>();
          for (Line line : engine.state.lines.values()) {
            if (!line.deleting) {
              all.put(line.name, line.stats(List.of()));
            }
          }
          return all;
        });
  }

  /**
   * Messages of a queue as they lie there, whatever they wait for, the oldest first.
   *
   * @param queue the queue
   * @param from the message to begin with, or the next one if that is gone; null for the oldest
   * @param limit how many at the most, from 1 to 1,000
   * @param maxBytes how much they may have together; the first one may have more
   * @return the messages
   * @throws BrokerException if the queue does not exist
   */
  public List<StoredMessage> messages(String queue, @Nullable UUID from, int limit, long maxBytes) {
    requireBetween("limit", limit, 1, MAX_MESSAGES);
    return machinery.reading(
        () -> {
          Scripts.View view = machinery.scripts.view(queue);
          return machinery.reader.peek(view, sequence(view, from), limit, maxBytes);
        });
  }

  private static long sequence(Scripts.View view, @Nullable UUID from) {
    if (from == null) {
      return 0;
    }
    if (!MessageId.isValid(from) || MessageId.queueId(from) != view.id()) {
      throw new IllegalArgumentException(
          "from must be the id of a message of the queue %s: from=%s".formatted(view.name(), from));
    }
    return MessageId.sequence(from);
  }

  /**
   * How a queue stands.
   *
   * @param name the queue
   * @param limit how many of its fairness keys to tell of, from 1 to {@link #MAX_KEYS}
   * @return with the first keys by name of which something waits
   * @throws BrokerException if the queue does not exist
   */
  public Queue queue(String name, int limit) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    Waiting waiting = machinery.ask(engine -> waiting(engine.state.line(name), limit));
    List<KeyStats> keys =
        inPieces(waiting.first(), (state, piece) -> stats(state.line(name), piece));
    return new Queue(waiting.stats().withKeys(keys), waiting.keys());
  }

  /**
   * How a queue stands.
   *
   * @param stats with some of its keys
   * @param waitingKeys of how many keys something waits
   */
  public record Queue(QueueStats stats, long waitingKeys) {}

  /** A queue without its keys, the first of them that wait, and how many do. */
  private record Waiting(QueueStats stats, List<String> first, long keys) {}

  private static Waiting waiting(Line line, int limit) {
    TreeSet<String> first = new TreeSet<>();
    long keys = 0;
    for (KeyCount each : line.keys.all()) {
      if (each.pending() > 0) {
        keys++;
        if (first.size() < limit || each.key.compareTo(first.last()) < 0) {
          first.add(each.key);
        }
        if (first.size() > limit) {
          first.pollLast();
        }
      }
    }
    return new Waiting(line.stats(List.of()), List.copyOf(first), keys);
  }

  private static List<KeyStats> stats(Line line, List<String> keys) {
    return keys.stream().flatMap(key -> line.queue.stats(key).stream()).toList();
  }

  private <T, R> List<R> inPieces(
      List<T> whole, BiFunction<BrokerState, List<T>, List<R>> question) {
    List<R> all = new ArrayList<>(whole.size());
    for (int from = 0; from < whole.size(); from += PIECE) {
      List<T> piece = whole.subList(from, Math.min(from + PIECE, whole.size()));
      all.addAll(machinery.ask(engine -> question.apply(engine.state, piece)));
    }
    return List.copyOf(all);
  }

  /**
   * How fairness keys of a queue stand.
   *
   * @param queue the queue
   * @param order which come first
   * @param limit how many, from 1 to {@link #MAX_KEYS}
   * @param prefix only keys that begin so are listed; empty for all
   * @return the first ones
   * @throws BrokerException if the queue does not exist
   */
  public QueueKeys keys(String queue, QueueKeys.Order order, int limit, String prefix) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    Objects.requireNonNull(prefix, "prefix");
    QueueKeys counted = machinery.ask(engine -> count(engine.state, queue, order, limit, prefix));
    Map<String, Long> weights = new HashMap<>();
    return counted.withKeys(
        inPieces(counted.keys(), (state, piece) -> withParked(state, queue, piece, weights)));
  }

  private static QueueKeys count(
      BrokerState state, String queue, QueueKeys.Order order, int limit, String prefix) {
    KeyCounts counts = state.line(queue).keys;
    Set<String> held = state.line(queue).queue.heldKeys();
    Comparator<KeyCount> least = least(order);
    PriorityQueue<KeyCount> first = new PriorityQueue<>(least);
    long waiting = 0;
    long weight = 0;
    long matching = 0;
    for (KeyCount each : counts.all()) {
      if (each.pending() > 0) {
        waiting++;
        weight += held.contains(each.key) ? 0 : each.weight;
      }
      if (!each.key.startsWith(prefix)) {
        continue;
      }
      matching++;
      if (first.size() < limit) {
        first.add(each);
      } else if (least.compare(first.element(), each) < 0) {
        first.remove();
        first.add(each);
      }
    }
    List<QueueKeys.Key> keys =
        first.stream().sorted(least.reversed()).map(each -> key(each, state.now)).toList();
    return new QueueKeys(counts.size(), waiting, weight, matching, keys);
  }

  /** Whoever is to come last comes first. */
  private static Comparator<KeyCount> least(QueueKeys.Order order) {
    Comparator<KeyCount> by =
        switch (order) {
          case DEPTH -> Comparator.comparingLong(each -> each.messages);
          case WAIT ->
              Comparator.<KeyCount>comparingInt(each -> each.pending() > 0 ? 1 : 0)
                  .thenComparing(Comparator.comparingLong(each -> -each.servedAt));
          case DELIVERED -> Comparator.comparingLong(each -> each.delivered);
        };
    return by.thenComparing(each -> each.key, Comparator.reverseOrder());
  }

  private static QueueKeys.Key key(KeyCount count, long now) {
    long waited = count.pending() > 0 ? Math.max(0, now - count.servedAt) : 0;
    return new QueueKeys.Key(
        count.key,
        count.messages,
        count.pending(),
        count.leased,
        count.delayed,
        count.weight,
        count.delivered,
        Duration.ofNanos(waited),
        List.of());
  }

  /** {@code weights}, by throttle key, are those known so far: each is summed up once. */
  private static List<QueueKeys.Key> withParked(
      BrokerState state, String queue, List<QueueKeys.Key> keys, Map<String, Long> weights) {
    Line line = state.line(queue);
    ToLongFunction<String> weightAt =
        throttleKey -> weights.computeIfAbsent(throttleKey, line.queue::weightAt);
    return keys.stream()
        .map(
            each ->
                each.pending() == 0
                    ? each
                    : line.queue
                        .stats(each.key())
                        .map(stats -> with(each, parked(stats, state.now, weightAt)))
                        .orElse(each))
        .toList();
  }

  private static QueueKeys.Key with(QueueKeys.Key key, List<QueueKeys.Parked> parked) {
    return new QueueKeys.Key(
        key.key(),
        key.depth(),
        key.pending(),
        key.inFlight(),
        key.delayed(),
        key.weight(),
        key.delivered(),
        key.waited(),
        parked);
  }

  /** One for each throttle key, though messages that wait for it may name others, too. */
  private static List<QueueKeys.Parked> parked(
      KeyStats stats, long now, ToLongFunction<String> weightAt) {
    Map<String, List<KeyStats.Parked>> byKey =
        stats.parked().stream()
            .collect(
                Collectors.groupingBy(
                    KeyStats.Parked::throttleKey, TreeMap::new, Collectors.toList()));
    List<QueueKeys.Parked> all = new ArrayList<>(byKey.size());
    byKey.forEach(
        (throttleKey, each) ->
            all.add(
                new QueueKeys.Parked(
                    throttleKey,
                    each.stream().mapToInt(KeyStats.Parked::items).sum(),
                    weightAt.applyAsLong(throttleKey),
                    from(now, each.get(0)))));
    return all;
  }

  private static Optional<Duration> from(long now, KeyStats.Parked parked) {
    return parked.untilNanos().isEmpty()
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(Math.max(0, parked.untilNanos().getAsLong() - now)));
  }

  /**
   * How throttle keys with a rate stand.
   *
   * @return all of them
   */
  public Throttles throttles() {
    return machinery.ask(
        engine -> {
          long now = engine.state.now;
          return new Throttles(
              now,
              engine.state.scheduler.throttles(now).stream()
                  .map(each -> throttle(each, now))
                  .toList());
        });
  }

  /**
   * All throttle keys with a rate.
   *
   * @param atNanos when: between two looks no more is taken than burst + rate · time
   * @param all each of them
   */
  public record Throttles(long atNanos, List<Throttle> all) {}

  private static Throttle throttle(ThrottleStats stats, long now) {
    return new Throttle(
        stats,
        stats.untilNanos().isEmpty()
            ? Optional.empty()
            : Optional.of(Duration.ofNanos(Math.max(0, stats.untilNanos().getAsLong() - now))));
  }

  /**
   * How a throttle key stands.
   *
   * @param stats its figures
   * @param until how long until it lets somebody go; empty if time alone does not do it, or nobody
   *     waits
   */
  public record Throttle(ThrottleStats stats, Optional<Duration> until) {}

  /**
   * Who waits for a throttle key, about in the order in which they go; without fairness keys that
   * have as many messages in flight as they may.
   *
   * @param throttleKey the key
   * @param limit how many, from 1 to {@link #MAX_KEYS}
   * @return the first ones
   */
  public List<ThrottleStats.Waiter> waiters(String throttleKey, int limit) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    return machinery.ask(engine -> engine.state.scheduler.waiters(throttleKey, limit));
  }
}
