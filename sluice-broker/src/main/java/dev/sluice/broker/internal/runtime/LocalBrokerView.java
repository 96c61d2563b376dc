package dev.sluice.broker.internal.runtime;

import static dev.sluice.broker.internal.util.Checks.requireBetween;

import dev.sluice.FairnessKeyStats;
import dev.sluice.LimitStats;
import dev.sluice.NanoClock;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerStatus;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.StoredMessage;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.store.MessageId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
 * Asks the engine in slices, between which messages are delivered, and sorts on the thread of the
 * caller.
 */
final class LocalBrokerView implements BrokerView {
  /** The most fairness keys of one slice. */
  private static final int SLICE = 500;

  private final BrokerLifecycle lifecycle;

  private final QueryCache<QueueSnapshot> queueQueries;
  private final QueryCache<FairnessKeyPage> keyQueries;

  LocalBrokerView(BrokerLifecycle lifecycle, NanoClock clock) {
    this.lifecycle = lifecycle;
    this.queueQueries = new QueryCache<>(clock);
    this.keyQueries = new QueryCache<>(clock);
  }

  private EngineCalls engine() {
    return lifecycle.runtime().engine;
  }

  @Override
  public void ping() {
    engine().query(machine -> true);
  }

  @Override
  public BrokerStatus status() {
    return lifecycle.status();
  }

  @Override
  public CompletableFuture<BrokerException> failure() {
    return lifecycle.failure();
  }

  @Override
  public SortedMap<String, QueueStats> queues() {
    return engine()
        .query(
            machine -> {
              SortedMap<String, QueueStats> all = new TreeMap<>();
              for (BrokerQueue brokerQueue : machine.state.queues.values()) {
                if (!brokerQueue.deleting) {
                  all.put(brokerQueue.name, brokerQueue.stats(List.of(), machine.state.now));
                }
              }
              return all;
            });
  }

  @Override
  public List<StoredMessage> browse(
      String queue, @Nullable UUID from, int max, PreviewSize size, MemoryBudget budget) {
    requireBetween("max", max, 1, MAX_MESSAGES);
    BrokerRuntime runtime = lifecycle.runtime();
    OptionalLong place = from == null ? OptionalLong.empty() : placeOf(queue, from);
    return runtime.deliveries.reading(
        () -> {
          QueueRegistry.QueueHandle handle = runtime.registry.handle(queue);
          long first = place.orElseGet(() -> formerPlaceOf(runtime.registry, handle, from));
          return runtime.reader.browse(handle, first, max, size, budget);
        });
  }

  /** Returns where the message is stored in {@code queue}; empty if it is not there. */
  private OptionalLong placeOf(String queue, UUID id) {
    return engine()
        .query(
            machine -> {
              MessageEntry entry = machine.state.index.get(id);
              return entry == null || !entry.queue.name.equals(queue)
                  ? OptionalLong.empty()
                  : OptionalLong.of(entry.sequence);
            });
  }

  /**
   * Returns where the message was stored when it was enqueued; 0 without one, or if that was in
   * another queue.
   */
  private static long formerPlaceOf(
      QueueRegistry registry, QueueRegistry.QueueHandle handle, @Nullable UUID from) {
    if (from == null) {
      return 0;
    }
    if (MessageId.isValid(from) && MessageId.queueId(from) == handle.id()) {
      return MessageId.sequence(from);
    }
    QueueRegistry.QueueHandle other = registry.find(counterpartOf(handle.name()));
    if (MessageId.isValid(from) && other != null && MessageId.queueId(from) == other.id()) {
      return 0;
    }
    throw new IllegalArgumentException(
        "from must be the id of a message of the queue %s, but was %s"
            .formatted(handle.name(), from));
  }

  /** Returns the queue to which messages of {@code queue} move: dead letters, or redriven ones. */
  private static String counterpartOf(String queue) {
    return QueueNames.isDeadLetterQueue(queue)
        ? QueueNames.sourceOf(queue)
        : QueueNames.deadLetterQueueOf(queue);
  }

  @Override
  public QueueSnapshot queue(String name, int maxFairnessKeys) {
    requireBetween("maxFairnessKeys", maxFairnessKeys, 1, MAX_KEYS);
    return queueQueries.get(
        new QueueQuery(idOf(name), maxFairnessKeys), () -> scan(name, maxFairnessKeys));
  }

  private record QueueQuery(int queue, int limit) {}

  /** Returns the number of the queue; a queue that is created again has another one. */
  private int idOf(String queue) {
    PendingCalls.requireMayWait();
    engine().requireOpen();
    return lifecycle.runtime().registry.handle(queue).id();
  }

  private QueryCache.CachedResult<QueueSnapshot> scan(String name, int limit) {
    FairnessKeyScan scan = FairnessKeyScan.over(engine(), name);
    List<String> first =
        scan.keys.stream()
            .filter(each -> each.pending() > 0)
            .map(FairnessKeyPage.Row::fairnessKey)
            .sorted()
            .limit(limit)
            .toList();
    List<FairnessKeyStats> keys =
        inSlices(first, (state, slice) -> stats(state.queue(name), slice));
    return new QueryCache.CachedResult<>(
        new QueueSnapshot(with(scan.stats, keys), scan.waiting), scan.isExpensive());
  }

  private static QueueStats with(QueueStats stats, List<FairnessKeyStats> keys) {
    return new QueueStats(
        stats.queue(),
        stats.depth(),
        stats.inFlight(),
        stats.delayed(),
        stats.oldestReady(),
        stats.consumers(),
        keys,
        stats.totals(),
        stats.unknownThrottleKeys(),
        stats.lastUnknownThrottleKey());
  }

  private static List<FairnessKeyStats> stats(BrokerQueue brokerQueue, List<String> keys) {
    return keys.stream().flatMap(key -> brokerQueue.fairQueue.stats(key).stream()).toList();
  }

  private <T, R> List<R> inSlices(List<T> whole, BiFunction<EngineState, List<T>, List<R>> query) {
    List<R> all = new ArrayList<>(whole.size());
    for (int from = 0; from < whole.size(); from += SLICE) {
      List<T> slice = whole.subList(from, Math.min(from + SLICE, whole.size()));
      all.addAll(engine().query(machine -> query.apply(machine.state, slice)));
    }
    return List.copyOf(all);
  }

  @Override
  public FairnessKeyPage fairnessKeys(
      String queue, FairnessKeyPage.Order order, int max, String prefix) {
    requireBetween("max", max, 1, MAX_KEYS);
    Objects.requireNonNull(prefix, "prefix");
    return keyQueries.get(
        new FairnessKeysQuery(idOf(queue), order, max, prefix),
        () -> scan(queue, order, max, prefix));
  }

  private record FairnessKeysQuery(
      int queue, FairnessKeyPage.Order order, int limit, String prefix) {}

  private QueryCache.CachedResult<FairnessKeyPage> scan(
      String queue, FairnessKeyPage.Order order, int limit, String prefix) {
    FairnessKeyScan scan = FairnessKeyScan.over(engine(), queue);
    List<FairnessKeyPage.Row> matching =
        scan.keys.stream().filter(each -> each.fairnessKey().startsWith(prefix)).toList();
    Map<String, Long> weights = new HashMap<>();
    List<FairnessKeyPage.Row> keys =
        inSlices(
            first(matching, least(order), limit),
            (state, slice) -> withThrottled(state, queue, slice, weights));
    return new QueryCache.CachedResult<>(
        new FairnessKeyPage(scan.active, scan.waiting, scan.readyWeight, matching.size(), keys),
        scan.isExpensive());
  }

  /** Returns the greatest keys, in descending order. */
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

  /** Returns a comparator in the reverse of {@code order}. */
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

  /** Adds throttled messages; {@code weights}, by throttle key, keeps sums between slices. */
  private static List<FairnessKeyPage.Row> withThrottled(
      EngineState state, String queue, List<FairnessKeyPage.Row> keys, Map<String, Long> weights) {
    BrokerQueue brokerQueue = state.queue(queue);
    ToLongFunction<String> weightAt =
        throttleKey -> weights.computeIfAbsent(throttleKey, brokerQueue.fairQueue::waitingWeight);
    return keys.stream()
        .map(
            each ->
                each.pending() == 0
                    ? each
                    : brokerQueue
                        .fairQueue
                        .stats(each.fairnessKey())
                        .map(stats -> with(each, throttled(stats, weightAt)))
                        .orElse(each))
        .toList();
  }

  private static FairnessKeyPage.Row with(
      FairnessKeyPage.Row key, List<FairnessKeyPage.Throttled> throttled) {
    return new FairnessKeyPage.Row(
        key.fairnessKey(),
        key.depth(),
        key.pending(),
        key.inFlight(),
        key.delayed(),
        key.weight(),
        key.delivered(),
        key.waited(),
        throttled);
  }

  /** Returns one entry for each throttle key, with all messages that wait for it. */
  private static List<FairnessKeyPage.Throttled> throttled(
      FairnessKeyStats stats, ToLongFunction<String> weightAt) {
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
                    each.get(0).nextGrantIn())));
    return all;
  }

  @Override
  public LimitsSnapshot limitStats() {
    return engine()
        .query(
            machine ->
                new LimitsSnapshot(
                    Instant.ofEpochSecond(0, machine.state.now),
                    machine.state.scheduler.limitStats()));
  }

  @Override
  public List<LimitStats.Waiter> waiters(String limitName, int max) {
    requireBetween("max", max, 1, MAX_KEYS);
    return engine().query(machine -> machine.state.scheduler.waiters(limitName, max));
  }
}
