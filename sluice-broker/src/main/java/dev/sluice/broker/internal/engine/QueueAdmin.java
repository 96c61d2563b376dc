package dev.sluice.broker.internal.engine;

import dev.sluice.Limit;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.QueueStats;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Creates, changes and deletes queues, config entries and limits; splits long work into slices. */
public final class QueueAdmin {
  /** The most messages that one step of long work removes. */
  static final int SLICE = 1_000;

  private final EngineState state;
  private final Dispatcher dispatcher;
  private final EnqueueHandler enqueueHandler;

  /** Long work; each does one step and returns whether it is done. */
  private final Deque<BooleanSupplier> tasks = new ArrayDeque<>();

  QueueAdmin(EngineState state, Dispatcher dispatch, EnqueueHandler intake) {
    this.state = state;
    this.dispatcher = dispatch;
    this.enqueueHandler = intake;
  }

  /** Goes through a range of all messages, a bounded number of them in each step. */
  private final class Cursor {
    private final long end;
    private long from;

    Cursor(long from, long end) {
      this.from = from;
      this.end = end;
    }

    List<MessageEntry> next(int limit, Predicate<MessageEntry> filter) {
      MessageIndex.SearchStep step = state.index.search(from, end, limit, filter);
      from = step.next();
      return step.found();
    }

    boolean hasEnded() {
      return from >= end;
    }
  }

  /** Begins long work: at once if there is nothing to go through, else with the next tick. */
  private void begin(BooleanSupplier task, boolean trivial) {
    if (!trivial || !task.getAsBoolean()) {
      tasks.addLast(task);
    }
  }

  /** Does one step of one piece of long work; returns whether there is more. */
  boolean runTask() {
    BooleanSupplier task = tasks.pollFirst();
    if (task != null && !task.getAsBoolean()) {
      tasks.addLast(task);
    }
    return !tasks.isEmpty();
  }

  /** Adopts a queue that has the name of the dead-letter queue only if {@code mayAdopt}. */
  public void create(
      String name, QueueConfig config, boolean mayAdopt, CompletableFuture<Void> future) {
    if (state.queues.containsKey(name)) {
      state.callbacks.reject(
          future, new BrokerException(Code.QUEUE_EXISTS, "the queue exists: queue=" + name));
      return;
    }
    String deadLetters = QueueNames.deadLetterQueueOf(name);
    boolean hasDeadLetters = !QueueNames.isDeadLetterQueue(name);
    boolean adopts = hasDeadLetters && state.queues.containsKey(deadLetters);
    boolean two = hasDeadLetters && !adopts;
    try {
      requireAdoptable(deadLetters, !adopts || mayAdopt);
      state.configHeapUsage.requireHeap(two ? 2 : 1, config);
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
      return;
    }
    add(name, config);
    if (two) {
      add(deadLetters, ofDeadLetters(config));
    }
    state.callbacks.queuesChanged();
    changed(future);
  }

  /**
   * A dead letter that fails has nowhere to go: it is tried again, with the delays of its queue.
   */
  private static QueueConfig ofDeadLetters(QueueConfig source) {
    return QueueConfig.builder()
        .durability(source.durability())
        .maxAttempts(0)
        .retryDelay(source.retryDelay())
        .maxRetryDelay(source.maxRetryDelay())
        .build();
  }

  private static void requireAdoptable(String deadLetters, boolean adoptable) {
    if (!adoptable) {
      throw new BrokerException(
          Code.DEAD_LETTER_QUEUE_EXISTS,
          "another queue has the name of the dead-letter queue: queue=" + deadLetters);
    }
  }

  private void add(String name, QueueConfig config) {
    save(open(state.nextQueueId++, name, config));
  }

  /** Stores the configuration of the queue under a revision of its own. */
  private void save(BrokerQueue brokerQueue) {
    brokerQueue.revisionNumber++;
    state.batch.changes.add(
        new StateChange.QueueSaved(
            brokerQueue.id, brokerQueue.name, brokerQueue.config, brokerQueue.revisionNumber));
  }

  BrokerQueue open(int id, String name, QueueConfig config) {
    QueueConfig kept = state.configHeapUsage.added(config);
    BrokerQueue brokerQueue = new BrokerQueue(id, name, kept, state.scheduler.queue(name), state);
    state.queues.put(name, brokerQueue);
    return brokerQueue;
  }

  /** Answers with the new revision; refused unless the queue has the {@code expected} one. */
  public void update(
      String name, QueueConfig config, String expected, CompletableFuture<String> future) {
    BrokerQueue present = state.queues.get(name);
    // Many calls at once must not visit all keys again and again between two rounds of inputs.
    begin(
        () -> {
          updateNow(name, config, expected, future);
          return true;
        },
        present == null || !present.visitsKeys(config));
  }

  private void updateNow(
      String name, QueueConfig config, String expected, CompletableFuture<String> future) {
    try {
      BrokerQueue brokerQueue = state.queue(name);
      requireRevision(brokerQueue, expected);
      state.configHeapUsage.requireHeap(0, config);
      QueueConfig kept = state.configHeapUsage.added(config);
      state.configHeapUsage.removed(brokerQueue.config);
      brokerQueue.configure(kept);
      save(brokerQueue);
      state.callbacks.queuesChanged();
      state.batch.whenSynced.completions.add(new Completion<>(future, brokerQueue.revision()));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  private static void requireRevision(BrokerQueue brokerQueue, String expected) {
    requireRevision(brokerQueue.name, brokerQueue.revision(), expected);
  }

  /** Checks that the {@code revision} of a queue is the {@code expected} one. */
  public static void requireRevision(String queue, String revision, String expected) {
    if (!revision.equals(expected)) {
      throw new BrokerException(
          Code.REVISION_MISMATCH,
          "the queue has changed: queue=%s, revision=%s, expected=%s"
              .formatted(queue, revision, expected));
    }
  }

  /** Completes {@code future} once the change is on the disk. */
  private void changed(CompletableFuture<Void> future) {
    state.batch.whenSynced.completions.add(Completion.done(future));
  }

  /** Deletes a queue with its dead letters and everything in them. */
  public void delete(String name, @Nullable String revision, CompletableFuture<Void> future) {
    try {
      BrokerQueue brokerQueue = state.queue(name);
      if (revision != null) {
        requireRevision(brokerQueue, revision);
      }
      List<BrokerQueue> deleted = new ArrayList<>(List.of(brokerQueue));
      BrokerQueue deadLetters = state.queues.get(QueueNames.deadLetterQueueOf(name));
      // A dead-letter queue has no dead-letter queue, even if a queue has that name.
      if (!QueueNames.isDeadLetterQueue(name) && deadLetters != null && !deadLetters.deleting) {
        deleted.add(deadLetters);
      }
      deleted.forEach(this::shut);
      Cursor cursor = new Cursor(0, Long.MAX_VALUE);
      begin(() -> deleteSlice(deleted, cursor, future), depth(deleted) == 0);
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  private void shut(BrokerQueue brokerQueue) {
    brokerQueue.deleting = true;
    BrokerException reason =
        new BrokerException(Code.QUEUE_DELETED, "the queue was deleted: queue=" + brokerQueue.name);
    List.copyOf(brokerQueue.consumers).forEach(consumer -> dispatcher.close(consumer, reason));
  }

  private boolean deleteSlice(
      List<BrokerQueue> deleted, Cursor cursor, CompletableFuture<Void> future) {
    if (depth(deleted) > 0) {
      cursor.next(SLICE, entry -> deleted.contains(entry.queue)).forEach(this::remove);
      if (depth(deleted) > 0 && !cursor.hasEnded()) {
        return false;
      }
    }
    for (BrokerQueue brokerQueue : deleted) {
      if (!enqueueHandler.forgetSome(brokerQueue)) {
        return false;
      }
    }
    for (BrokerQueue brokerQueue : deleted) {
      brokerQueue.fairnessKeys.forgetAll();
      state.configHeapUsage.removed(brokerQueue.config);
      state.queues.remove(brokerQueue.name);
      state.scheduler.removeQueue(brokerQueue.name);
      state.batch.changes.add(new StateChange.QueueDeleted(brokerQueue.id));
    }
    state.callbacks.queuesChanged();
    changed(future);
    return true;
  }

  private static long depth(List<BrokerQueue> queues) {
    return queues.stream().mapToLong(queue -> queue.depth).sum();
  }

  private void remove(MessageEntry entry) {
    state.forget(entry);
    state.batch.changes.add(new StateChange.Removed(entry));
  }

  /** Deletes every message that waits; answers with their number. */
  public void purge(String name, CompletableFuture<Long> future) {
    try {
      BrokerQueue brokerQueue = state.queue(name);
      long[] removed = {0};
      Cursor cursor = new Cursor(0, state.nextSequence);
      begin(
          () -> {
            if (brokerQueue.waiting() > 0) {
              List<MessageEntry> slice = cursor.next(SLICE, entry -> waitsIn(brokerQueue, entry));
              slice.forEach(this::remove);
              removed[0] += slice.size();
            }
            boolean done = brokerQueue.waiting() == 0 || cursor.hasEnded();
            if (done) {
              state
                  .batch
                  .whenDurable(brokerQueue)
                  .completions
                  .add(new Completion<>(future, removed[0]));
            }
            return done;
          },
          brokerQueue.waiting() == 0);
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  private static boolean waitsIn(BrokerQueue brokerQueue, MessageEntry entry) {
    return entry.queue == brokerQueue
        && (entry.stage == MessageEntry.Stage.PENDING || entry.stage == MessageEntry.Stage.DELAYED);
  }

  /**
   * Which dead letters to take.
   *
   * @param from the lowest number among which to look; with 0, it is an error if there is no room
   * @param end higher than the highest number
   * @param canceled ends the search
   */
  public record DeadLetterClaim(
      String queue, int limit, long from, long end, BooleanSupplier canceled) {}

  /**
   * Takes the oldest dead letters that wait out of a queue: up to as many as claimed, and at least
   * one if there is one. They are not delivered until {@link #redrive} has moved them.
   */
  public void claimDeadLetters(
      DeadLetterClaim claim, CompletableFuture<List<MessageEntry>> future) {
    Cursor cursor = new Cursor(claim.from, claim.end);
    BrokerQueue deadLetters = state.queues.get(claim.queue);
    begin(
        () -> claimStep(claim, cursor, future), deadLetters == null || deadLetters.waiting() == 0);
  }

  private boolean claimStep(
      DeadLetterClaim claim, Cursor cursor, CompletableFuture<List<MessageEntry>> future) {
    try {
      BrokerQueue deadLetters = state.queue(claim.queue);
      boolean first = claim.from == 0;
      int budget = (int) Math.min(claim.limit, spaceAtSource(deadLetters, first));
      boolean over = budget == 0 || deadLetters.waiting() == 0 || claim.canceled.getAsBoolean();
      List<MessageEntry> claimed =
          over ? List.of() : cursor.next(budget, entry -> waitsIn(deadLetters, entry));
      if (claimed.isEmpty() && !over && !cursor.hasEnded()) {
        return false;
      }
      List<MessageEntry> fitting = fitting(claimed, first);
      for (MessageEntry entry : fitting) {
        state.unschedule(entry);
        entry.stage = MessageEntry.Stage.MOVING;
        state.batch.probes.add(entry);
      }
      state.batch.whenWritten.completions.add(new Completion<>(future, fitting));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
    return true;
  }

  /** Those of {@code claimed} for which there is room on the disk, from the first on. */
  private List<MessageEntry> fitting(List<MessageEntry> claimed, boolean first) {
    long budget = state.diskSpaceLeft;
    int count = 0;
    while (count < claimed.size() && claimed.get(count).bytes < budget) {
      budget -= claimed.get(count).bytes;
      count++;
    }
    if (first && count == 0 && !claimed.isEmpty()) {
      throw EngineState.diskFull();
    }
    return claimed.subList(0, count);
  }

  private long spaceAtSource(BrokerQueue deadLetters, boolean first) {
    BrokerQueue source = source(deadLetters);
    long max = source.config.maxDepth();
    if (first && max > 0 && source.depth >= max) {
      throw queueFull(source);
    }
    return max == 0 ? Long.MAX_VALUE : Math.max(0, max - source.depth);
  }

  private BrokerQueue source(BrokerQueue deadLetters) {
    String name = deadLetters.name;
    if (!QueueNames.isDeadLetterQueue(name)) {
      throw new BrokerException(
          Code.NOT_A_DEAD_LETTER_QUEUE, "the queue holds no dead letters: queue=" + name);
    }
    BrokerQueue source = state.queues.get(QueueNames.sourceOf(name));
    if (source == null || source.deleting) {
      throw new BrokerException(
          Code.SOURCE_NOT_FOUND,
          "the queue of these dead letters does not exist: queue=" + QueueNames.sourceOf(name));
    }
    return source;
  }

  /** Moves claimed dead letters to where they came from; answers with their number. */
  public void redrive(
      List<MessageEntry> claimed,
      List<InternedPlacement.Spec> routes,
      CompletableFuture<Integer> future) {
    int moved = 0;
    BrokerException refusal = null;
    for (int i = 0; i < claimed.size(); i++) {
      MessageEntry entry = claimed.get(i);
      if (entry.stage != MessageEntry.Stage.MOVING) {
        continue;
      }
      try {
        BrokerQueue source = source(entry.queue);
        requireReadable(entry);
        requireDepth(source, routes.get(i));
        // A hook may give each of many messages that had one route in common a route of its own.
        state.requireHeapToMove(entry, source, routes.get(i));
        move(entry, source, routes.get(i));
        moved++;
      } catch (BrokerException noPlace) {
        refusal = noPlace;
        state.makeAvailable(entry, state.now);
      }
    }
    if (refusal == null || moved > 0) {
      state.batch.whenSynced.completions.add(new Completion<>(future, moved));
    } else {
      state.callbacks.reject(future, refusal);
    }
  }

  private void requireReadable(MessageEntry entry) {
    if (!state.callbacks.isReadable(entry)) {
      throw new BrokerException(
          Code.STORE_FAILED,
          "the message cannot be read: queue=%s, id=%s".formatted(entry.queue.name, entry.id()));
    }
  }

  /** Others may have taken the room since the messages were claimed. */
  private static void requireDepth(BrokerQueue source, InternedPlacement.Spec route) {
    QueueConfig config = source.config;
    if (config.maxDepth() > 0 && source.depth >= config.maxDepth()) {
      throw queueFull(source);
    }
    String key = route.fairnessKey();
    if (config.maxDepthPerKey() > 0 && source.depthOf(key) >= config.maxDepthPerKey()) {
      throw new BrokerException(
          Code.QUEUE_FULL,
          "the fairness key is full: queue=%s, key=%s, maxDepthPerKey=%d"
              .formatted(source.name, key, config.maxDepthPerKey()));
    }
  }

  private static BrokerException queueFull(BrokerQueue source) {
    return new BrokerException(
        Code.QUEUE_FULL,
        "the queue is full: queue=%s, maxDepth=%d"
            .formatted(source.name, source.config.maxDepth()));
  }

  private void move(MessageEntry entry, BrokerQueue source, InternedPlacement.Spec route) {
    long timeToLive = source.config.timeToLive().toNanos();
    long expiresAt = timeToLive > 0 ? state.now + timeToLive : Long.MAX_VALUE;
    MessageEntry moved = state.move(entry, source, route, expiresAt);
    state.forget(entry);
    state.batch.changes.add(new StateChange.Moved(entry, moved, 0, state.now, null));
    state.batch.whenDurable(source).ready.add(moved);
    state.metrics.redriven(source.name);
  }

  public void setConfig(String key, @Nullable String value, CompletableFuture<Void> future) {
    try {
      state.configHeapUsage.changed(key, state.config.get(key), value);
    } catch (BrokerException noRoom) {
      state.callbacks.reject(future, noRoom);
      return;
    }
    if (value == null) {
      state.config.remove(key);
    } else {
      state.config.put(key, value);
    }
    state.batch.changes.add(new StateChange.ConfigSet(key, value));
    state.callbacks.configChanged(key, value);
    String throttleKey = LimitConfigEntry.throttleKey(key);
    if (throttleKey != null && value != null) {
      LimitConfigEntry rate = LimitConfigEntry.parse(value);
      state.scheduler.setLimit(throttleKey, Limit.ofRate(rate.perSecond(), rate.burst()));
      state.batch.touchedLimits.add(throttleKey);
    } else if (throttleKey != null && state.scheduler.removeLimit(throttleKey)) {
      state.batch.changes.add(new StateChange.LevelDropped(throttleKey));
    }
    changed(future);
  }

  public QueueStats stats(String name) {
    BrokerQueue brokerQueue = state.queue(name);
    return brokerQueue.stats(brokerQueue.fairQueue.stats(), state.now);
  }
}
