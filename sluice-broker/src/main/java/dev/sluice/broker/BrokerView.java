package dev.sluice.broker;

import static dev.sluice.broker.store.Checks.requireBetween;

import dev.sluice.FairnessKeyStats;
import dev.sluice.LimitStats;
import dev.sluice.NanoClock;
import dev.sluice.broker.engine.BrokerQueue;
import dev.sluice.broker.engine.EngineState;
import dev.sluice.broker.engine.MessageEntry;
import dev.sluice.broker.runtime.BrokerLifecycle;
import dev.sluice.broker.runtime.BrokerRuntime;
import dev.sluice.broker.runtime.FairnessKeyScan;
import dev.sluice.broker.runtime.PendingCalls;
import dev.sluice.broker.runtime.QueryCache;
import dev.sluice.broker.runtime.QueueRegistry;
import dev.sluice.broker.store.MessageId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How a broker stands, for those who look on. Messages are delivered while the keys of a queue are
 * counted, and of a queue with more than 5,000 those who ask the same within a second share an
 * answer.
 *
 * @since 0.1
 */
public final class BrokerView {
  /** The most keys that one call tells of. */
  public static final int MAX_KEYS = 10_000;

  private static final int MAX_MESSAGES = 1_000;

  /** Messages are delivered in between. */
  private static final int PIECE = 500;

  private final BrokerLifecycle life;

  private final QueryCache<BrokerView.QueueSnapshot> queueLooks;
  private final QueryCache<FairnessKeyPage> keyLooks;

  BrokerView(BrokerLifecycle life, NanoClock clock) {
    this.life = life;
    this.queueLooks = new QueryCache<>(clock);
    this.keyLooks = new QueryCache<>(clock);
  }

  /**
   * Returns when the broker has answered, whatever else it has.
   *
   * @throws BrokerException if it has stopped
   */
  public void ping() {
    life.machinery().ask(engine -> true);
  }

  /**
   * Returns whether the broker runs, waits for space, has stopped or is closed.
   *
   * @return the status at the time of the call
   */
  public BrokerStatus status() {
    return life.status();
  }

  /**
   * Completes when the broker has {@link BrokerStatus#STOPPED}: its process should then exit and be
   * started again.
   *
   * @return completes with the reason; never completes if the broker is closed first
   */
  public CompletableFuture<BrokerException> failure() {
    return life.failure();
  }

  /**
   * How all queues stand, those of dead letters too.
   *
   * @return by name, without their keys
   */
  public SortedMap<String, QueueStats> queues() {
    return life.machinery()
        .ask(
            engine -> {
              SortedMap<String, QueueStats> all = new TreeMap<>();
              for (BrokerQueue line : engine.state.lines.values()) {
                if (!line.deleting) {
                  all.put(line.name, line.stats(List.of(), engine.state.now));
                }
              }
              return all;
            });
  }

  /**
   * Messages of a queue as they lie there, whatever they wait for, the oldest first.
   *
   * @param queue the queue
   * @param from the message to begin with, or the next one if that is gone; null for the oldest.
   *     Where a dead letter was that is gone is not known: the oldest come then
   * @param limit how many at the most, from 1 to 1,000
   * @param size how much of them
   * @return the messages
   * @throws BrokerException if the queue does not exist
   */
  public List<StoredMessage> browse(
      String queue, @Nullable UUID from, int limit, BrokerView.PreviewSize size) {
    return browse(queue, from, limit, size, BrokerView.MemoryBudget.UNLIMITED);
  }

  /**
   * As above, into memory that the caller accounts for.
   *
   * @param queue the queue
   * @param from the message to begin with, or the next one if that is gone; null for the oldest.
   *     Where a dead letter was that is gone is not known: the oldest come then
   * @param limit how many at the most, from 1 to 1,000
   * @param size how much of them
   * @param room asked before each message is read; the list ends where it refuses
   * @return the messages
   * @throws BrokerException if the queue does not exist
   */
  public List<StoredMessage> browse(
      String queue,
      @Nullable UUID from,
      int limit,
      BrokerView.PreviewSize size,
      BrokerView.MemoryBudget room) {
    requireBetween("limit", limit, 1, MAX_MESSAGES);
    BrokerRuntime machinery = life.machinery();
    OptionalLong place = from == null ? OptionalLong.empty() : placeOf(queue, from);
    return machinery.reading(
        () -> {
          QueueRegistry.QueueHandle view = machinery.scripts.view(queue);
          long first = place.orElseGet(() -> formerPlaceOf(machinery.scripts, view, from));
          return machinery.reader.peek(view, first, limit, size, room);
        });
  }

  /**
   * How much to show of messages.
   *
   * @param maxPayloadBytes how much of each payload, at the most; text ends with a whole character
   * @param maxTotalBytes how much all may have together, cut as they are; the first one may have
   *     more
   */
  public record PreviewSize(int maxPayloadBytes, long maxTotalBytes) {
    /** All there is. */
    public static final BrokerView.PreviewSize ALL =
        new BrokerView.PreviewSize(Integer.MAX_VALUE, Long.MAX_VALUE);

    /** Checks that it is not negative. */
    public PreviewSize {
      requireBetween("payloadBytes", maxPayloadBytes, 0, Integer.MAX_VALUE);
      requireBetween("allBytes", maxTotalBytes, 0, Long.MAX_VALUE);
    }
  }

  /** Accounts for the memory that messages are read into. */
  public interface MemoryBudget {
    /** Has no bound. */
    BrokerView.MemoryBudget UNLIMITED =
        new BrokerView.MemoryBudget() {
          @Override
          public boolean tryReserve(long bytes) {
            return true;
          }

          @Override
          public void release(long bytes) {}
        };

    /**
     * Takes memory for a message that is about to be read.
     *
     * @param bytes the size of the message as it is stored
     * @return false if there is not enough; the message is not read then
     */
    boolean tryReserve(long bytes);

    /**
     * Gives back memory of which a message does not need all.
     *
     * @param bytes how much is given back
     */
    void release(long bytes);
  }

  /** Where the message of that id is stored in {@code queue}; empty if it is not there. */
  private OptionalLong placeOf(String queue, UUID id) {
    return life.machinery()
        .ask(
            engine -> {
              MessageEntry entry = engine.state.index.get(id);
              return entry == null || !entry.line.name.equals(queue)
                  ? OptionalLong.empty()
                  : OptionalLong.of(entry.sequence);
            });
  }

  /**
   * Where the message of that id was when it was enqueued; 0 without one, or if it was not here.
   */
  private static long formerPlaceOf(
      QueueRegistry scripts, QueueRegistry.QueueHandle view, @Nullable UUID from) {
    if (from == null) {
      return 0;
    }
    if (MessageId.isValid(from) && MessageId.queueId(from) == view.id()) {
      return MessageId.sequence(from);
    }
    QueueRegistry.QueueHandle other = scripts.find(counterpartOf(view.name()));
    if (MessageId.isValid(from) && other != null && MessageId.queueId(from) == other.id()) {
      return 0;
    }
    throw new IllegalArgumentException(
        "from must be the id of a message of the queue %s: from=%s".formatted(view.name(), from));
  }

  /** Returns the queue to which messages of {@code queue} move: dead letters, or redriven ones. */
  private static String counterpartOf(String queue) {
    return QueueNames.isDeadLetterQueue(queue)
        ? QueueNames.sourceOf(queue)
        : QueueNames.deadLetterQueueOf(queue);
  }

  /**
   * How a queue stands.
   *
   * @param name the queue
   * @param limit how many of its fairness keys to tell of, from 1 to {@link #MAX_KEYS}
   * @return with the first keys by name of which something waits; with more than 5,000 keys, it may
   *     be a second old
   * @throws BrokerException if the queue does not exist
   */
  public BrokerView.QueueSnapshot queue(String name, int limit) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    return queueLooks.ask(new BrokerView.QueueQuery(idOf(name), limit), () -> look(name, limit));
  }

  private record QueueQuery(int queue, int limit) {}

  /** A queue that is made again has another, and shares nothing with the one before. */
  private int idOf(String queue) {
    PendingCalls.requireMayWait();
    life.machinery().calls.requireOpen();
    return life.machinery().scripts.view(queue).id();
  }

  private QueryCache.CachedResult<BrokerView.QueueSnapshot> look(String name, int limit) {
    FairnessKeyScan walk = FairnessKeyScan.over(life.machinery(), name);
    List<String> first =
        walk.keys.stream()
            .filter(each -> each.pending() > 0)
            .map(FairnessKeyPage.Row::fairnessKey)
            .sorted()
            .limit(limit)
            .toList();
    List<FairnessKeyStats> keys = inPieces(first, (state, piece) -> stats(state.line(name), piece));
    return new QueryCache.CachedResult<>(
        new BrokerView.QueueSnapshot(walk.stats.withKeys(keys), walk.waiting), walk.isDear());
  }

  /**
   * How a queue stands.
   *
   * @param stats with some of its keys
   * @param waitingKeys of how many keys something waits
   */
  public record QueueSnapshot(QueueStats stats, long waitingKeys) {}

  private static List<FairnessKeyStats> stats(BrokerQueue line, List<String> keys) {
    return keys.stream().flatMap(key -> line.queue.stats(key).stream()).toList();
  }

  private <T, R> List<R> inPieces(
      List<T> whole, BiFunction<EngineState, List<T>, List<R>> question) {
    List<R> all = new ArrayList<>(whole.size());
    for (int from = 0; from < whole.size(); from += PIECE) {
      List<T> piece = whole.subList(from, Math.min(from + PIECE, whole.size()));
      all.addAll(life.machinery().ask(engine -> question.apply(engine.state, piece)));
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
   * @return the first ones; of more than 5,000, they may be a second old
   * @throws BrokerException if the queue does not exist
   */
  public FairnessKeyPage fairnessKeys(
      String queue, FairnessKeyPage.Order order, int limit, String prefix) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    Objects.requireNonNull(prefix, "prefix");
    return keyLooks.ask(
        new BrokerView.FairnessKeysQuery(idOf(queue), order, limit, prefix),
        () -> look(queue, order, limit, prefix));
  }

  private record FairnessKeysQuery(
      int queue, FairnessKeyPage.Order order, int limit, String prefix) {}

  private QueryCache.CachedResult<FairnessKeyPage> look(
      String queue, FairnessKeyPage.Order order, int limit, String prefix) {
    FairnessKeyScan walk = FairnessKeyScan.over(life.machinery(), queue);
    List<FairnessKeyPage.Row> matching =
        walk.keys.stream().filter(each -> each.fairnessKey().startsWith(prefix)).toList();
    Map<String, Long> weights = new HashMap<>();
    List<FairnessKeyPage.Row> keys =
        inPieces(
            first(matching, least(order), limit),
            (state, piece) -> withParked(state, queue, piece, weights));
    return new QueryCache.CachedResult<>(
        new FairnessKeyPage(walk.active, walk.waiting, walk.readyWeight, matching.size(), keys),
        walk.isDear());
  }

  /** The greatest come first. */
  private static List<FairnessKeyPage.Row> first(
      List<FairnessKeyPage.Row> keys, Comparator<FairnessKeyPage.Row> least, int limit) {
    PriorityQueue<FairnessKeyPage.Row> first = new PriorityQueue<>(least);
    for (FairnessKeyPage.Row each : keys) {
      if (first.size() < limit) {
        first.add(each);
      } else if (least.compare(first.element(), each) < 0) {
        first.remove();
        first.add(each);
      }
    }
    return first.stream().sorted(least.reversed()).toList();
  }

  /** Whoever is to come last comes first. */
  private static Comparator<FairnessKeyPage.Row> least(FairnessKeyPage.Order order) {
    Comparator<FairnessKeyPage.Row> by =
        switch (order) {
          case DEPTH -> Comparator.comparingLong(FairnessKeyPage.Row::depth);
          case WAIT ->
              Comparator.<FairnessKeyPage.Row>comparingInt(each -> each.pending() > 0 ? 1 : 0)
                  .thenComparing(FairnessKeyPage.Row::waited);
          case DELIVERED -> Comparator.comparingLong(FairnessKeyPage.Row::delivered);
        };
    return by.thenComparing(FairnessKeyPage.Row::fairnessKey, Comparator.reverseOrder());
  }

  /** {@code weights}, by throttle key, are those known so far: each is summed up once. */
  private static List<FairnessKeyPage.Row> withParked(
      EngineState state, String queue, List<FairnessKeyPage.Row> keys, Map<String, Long> weights) {
    BrokerQueue line = state.line(queue);
    ToLongFunction<String> weightAt =
        throttleKey -> weights.computeIfAbsent(throttleKey, line.queue::waitingWeight);
    return keys.stream()
        .map(
            each ->
                each.pending() == 0
                    ? each
                    : line.queue
                        .stats(each.fairnessKey())
                        .map(stats -> with(each, parked(stats, state.now, weightAt)))
                        .orElse(each))
        .toList();
  }

  private static FairnessKeyPage.Row with(
      FairnessKeyPage.Row key, List<FairnessKeyPage.Throttled> parked) {
    return new FairnessKeyPage.Row(
        key.fairnessKey(),
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
  private static List<FairnessKeyPage.Throttled> parked(
      FairnessKeyStats stats, long now, ToLongFunction<String> weightAt) {
    Map<String, List<FairnessKeyStats.Throttled>> byKey =
        stats.throttled().stream()
            .collect(
                Collectors.groupingBy(
                    FairnessKeyStats.Throttled::throttleKey, TreeMap::new, Collectors.toList()));
    List<FairnessKeyPage.Throttled> all = new ArrayList<>(byKey.size());
    byKey.forEach(
        (throttleKey, each) ->
            all.add(
                new FairnessKeyPage.Throttled(
                    throttleKey,
                    each.stream().mapToInt(FairnessKeyStats.Throttled::items).sum(),
                    weightAt.applyAsLong(throttleKey),
                    from(now, each.get(0)))));
    return all;
  }

  private static Optional<Duration> from(long now, FairnessKeyStats.Throttled parked) {
    return parked.untilNanos().isEmpty()
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(Math.max(0, parked.untilNanos().getAsLong() - now)));
  }

  /**
   * How throttle keys with a rate stand.
   *
   * @return all of them
   */
  public BrokerView.LimitsSnapshot limitStats() {
    return life.machinery()
        .ask(
            engine -> {
              long now = engine.state.now;
              return new BrokerView.LimitsSnapshot(
                  now,
                  engine.state.scheduler.limitStats(now).stream()
                      .map(each -> throttle(each, now))
                      .toList());
            });
  }

  /**
   * All throttle keys with a rate.
   *
   * @param atNanos when: between two looks no more is taken than burst + rate · time
   * @param limits each of them
   */
  public record LimitsSnapshot(long atNanos, List<Throttle> limits) {}

  private static Throttle throttle(LimitStats stats, long now) {
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
  public record Throttle(LimitStats stats, Optional<Duration> until) {}

  /**
   * Who waits for a throttle key, about in the order in which they go; without fairness keys that
   * have as many messages in flight as they may.
   *
   * @param throttleKey the key
   * @param limit how many, from 1 to {@link #MAX_KEYS}
   * @return the first ones
   */
  public List<LimitStats.Waiter> waiters(String throttleKey, int limit) {
    requireBetween("limit", limit, 1, MAX_KEYS);
    return life.machinery().ask(engine -> engine.state.scheduler.waiters(throttleKey, limit));
  }
}
