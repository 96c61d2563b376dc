package dev.sluice.broker.internal.engine;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.accounting.DedupeWindow;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Accepts messages. */
public final class EnqueueHandler {
  /** The most dedupe ids to forget at a time. */
  private static final int FORGET_AT_ONCE = 1_000;

  private final EngineState state;

  /** Fires when dedupe ids expire. */
  static final class DedupeTimer extends EngineTimer {
    final BrokerQueue queue;

    DedupeTimer(BrokerQueue brokerQueue) {
      this.queue = brokerQueue;
    }
  }

  private final Map<BrokerQueue, EnqueueHandler.DedupeTimer> dedupeTimers = new HashMap<>();

  EnqueueHandler(EngineState state) {
    this.state = state;
  }

  /**
   * As below, for the queue of that id. A queue that was made under its name meanwhile is another
   * one, and the caller may not be allowed to use it.
   */
  public void enqueue(
      String queue, int id, List<PreparedMessage> messages, CompletableFuture<List<UUID>> future) {
    BrokerQueue present = state.queues.get(queue);
    if (present == null || present.id == id) {
      enqueue(queue, messages, future);
      return;
    }
    state.metrics.rejected(queue, Code.QUEUE_DELETED);
    state.callbacks.reject(
        future, new BrokerException(Code.QUEUE_DELETED, "the queue was deleted: queue=" + queue));
  }

  /** Takes all of {@code messages} or, with an exception, none. */
  public void enqueue(
      String queue, List<PreparedMessage> messages, CompletableFuture<List<UUID>> future) {
    try {
      BrokerQueue brokerQueue = state.queue(queue);
      @Nullable UUID[] known = duplicates(brokerQueue, messages);
      requireKnownThrottles(brokerQueue, messages, known);
      requireCapacity(brokerQueue, messages, known);
      List<UUID> ids = new ArrayList<>(messages.size());
      for (int i = 0; i < known.length; i++) {
        UUID duplicate = known[i];
        ids.add(duplicate == null ? accept(brokerQueue, messages.get(i)) : duplicate);
      }
      state.batch.whenDurable(brokerQueue).completions.add(new Completion<>(future, ids));
    } catch (BrokerException refused) {
      state.metrics.rejected(queue, refused.code());
      state.callbacks.reject(future, refused);
    }
  }

  /** Which of {@code messages} have been enqueued before. */
  private @Nullable UUID[] duplicates(BrokerQueue brokerQueue, List<PreparedMessage> messages) {
    @Nullable UUID[] known = new UUID[messages.size()];
    for (int i = 0; i < known.length; i++) {
      String dedupeId = messages.get(i).dedupeId();
      known[i] = dedupeId == null ? null : brokerQueue.dedupe.find(dedupeId, state.now);
    }
    return known;
  }

  private void requireKnownThrottles(
      BrokerQueue brokerQueue, List<PreparedMessage> messages, @Nullable UUID[] known) {
    if (!brokerQueue.config.strictThrottleKeys()) {
      return;
    }
    for (int i = 0; i < known.length; i++) {
      PreparedMessage message = messages.get(i);
      boolean isChecked = known[i] == null && !message.isScripted();
      if (isChecked && countUnknownThrottle(brokerQueue, message)) {
        throw new BrokerException(
            Code.UNKNOWN_THROTTLE_KEY,
            "throttle key must have a limit in a queue with strict throttle keys: queue=%s, throttleKey=%s"
                .formatted(brokerQueue.name, brokerQueue.unknownThrottleKey));
      }
    }
  }

  /** Counts {@code message} if it names a throttle key without a limit; returns whether it does. */
  private boolean countUnknownThrottle(BrokerQueue brokerQueue, PreparedMessage message) {
    for (String key : message.placement().throttleKeys().keySet()) {
      if (!state.scheduler.hasLimit(key)) {
        brokerQueue.unknownThrottles++;
        brokerQueue.unknownThrottleKey = key;
        return true;
      }
    }
    return false;
  }

  private void requireCapacity(
      BrokerQueue brokerQueue, List<PreparedMessage> messages, @Nullable UUID[] known) {
    long more = 0;
    long moreBytes = 0;
    long moreHeap = 0;
    boolean remembers = brokerQueue.config.dedupeWindow().toNanos() > 0;
    Set<InternedPlacement.Spec> newRoutes = new HashSet<>();
    Map<String, Long> byKey = new HashMap<>();
    long perKey = brokerQueue.config.maxDepthPerKey();
    for (int i = 0; i < known.length; i++) {
      if (known[i] == null) {
        more++;
        PreparedMessage each = messages.get(i);
        moreBytes += each.bytes();
        moreHeap += MessageEntry.HEAP_BYTES;
        if (!brokerQueue.hasPlacement(each.placement()) && newRoutes.add(each.placement())) {
          moreHeap += each.placement().heapBytes();
        }
        String dedupeId = each.dedupeId();
        if (remembers && dedupeId != null) {
          moreHeap += DedupeWindow.heapBytes(dedupeId);
        }
        if (perKey > 0) {
          String key = each.placement().fairnessKey();
          long depth = byKey.merge(key, 1L, Long::sum) + brokerQueue.depthOf(key);
          if (depth > perKey) {
            throw new BrokerException(
                Code.QUEUE_FULL,
                "the fairness key is full: queue=%s, key=%s, maxDepthPerKey=%d"
                    .formatted(brokerQueue.name, key, perKey));
          }
        }
      }
    }
    if (more > 0 && state.diskSpaceLeft <= moreBytes) {
      throw EngineState.diskFull();
    }
    state.requireMessageHeap(brokerQueue, moreHeap);
    long max = brokerQueue.config.maxDepth();
    if (max > 0 && brokerQueue.depth + more > max) {
      throw new BrokerException(
          Code.QUEUE_FULL,
          "the queue is full: queue=%s, maxDepth=%d".formatted(brokerQueue.name, max));
    }
  }

  private UUID accept(BrokerQueue brokerQueue, PreparedMessage message) {
    String dedupeId = message.dedupeId();
    long window = brokerQueue.config.dedupeWindow().toNanos();
    if (dedupeId != null && window > 0) {
      UUID twin = brokerQueue.dedupe.find(dedupeId, state.now);
      if (twin != null) {
        return twin;
      }
    }
    long ownTime = message.timeToLiveNanos();
    long timeToLive = ownTime > 0 ? ownTime : brokerQueue.config.timeToLive().toNanos();
    long expiresAt = timeToLive > 0 ? state.now + timeToLive : Long.MAX_VALUE;
    MessageEntry entry =
        state.create(brokerQueue, message.placement(), message.body().length, expiresAt);
    MessageEnvelope.stamp(message.body(), state.now);
    long availableAt = state.now + message.delayNanos();
    state.batch.changes.add(new StateChange.Enqueued(entry, availableAt, message.body()));
    state.batch.bodyBytes += message.bytes();
    state.diskSpaceLeft -= message.bytes();
    CommitBatch.Effects committed = state.batch.whenDurable(brokerQueue);
    if (message.delayNanos() == 0) {
      committed.ready.add(entry);
      state.cacheBody(entry, message.body());
    } else {
      committed.actions.add(() -> state.makeAvailable(entry, availableAt));
    }
    UUID id = entry.id();
    if (dedupeId != null && window > 0) {
      long until = state.now + window;
      remember(brokerQueue, dedupeId, id, until);
      state.batch.changes.add(new StateChange.DedupeAdded(brokerQueue.id, dedupeId, id, until));
    }
    if (countUnknownThrottle(brokerQueue, message)) {
      state.metrics.unknownThrottleKey(brokerQueue.name);
    }
    brokerQueue.enqueued++;
    state.metrics.enqueued(brokerQueue.name, entry.placement.spec.fairnessKey());
    return id;
  }

  void remember(BrokerQueue brokerQueue, String dedupeId, UUID id, long until) {
    brokerQueue.dedupe.remember(dedupeId, id, until);
    state.timers.set(
        dedupeTimers.computeIfAbsent(brokerQueue, EnqueueHandler.DedupeTimer::new),
        brokerQueue.dedupe.firstDue());
  }

  /** Forgets ids whose time is over. */
  void forget(EnqueueHandler.DedupeTimer due) {
    BrokerQueue brokerQueue = due.queue;
    for (String dedupeId : brokerQueue.dedupe.forget(state.now, FORGET_AT_ONCE)) {
      state.batch.changes.add(new StateChange.DedupeRemoved(brokerQueue.id, dedupeId));
    }
    if (brokerQueue.dedupe.firstDue() == Long.MAX_VALUE) {
      dedupeTimers.remove(brokerQueue);
    } else {
      state.timers.set(due, brokerQueue.dedupe.firstDue());
    }
  }

  /** Forgets some ids of a queue that is being deleted; returns whether there are no more. */
  boolean forgetSome(BrokerQueue brokerQueue) {
    EnqueueHandler.DedupeTimer timer = dedupeTimers.remove(brokerQueue);
    if (timer != null) {
      state.timers.remove(timer);
    }
    for (String dedupeId : brokerQueue.dedupe.forget(Long.MAX_VALUE, FORGET_AT_ONCE)) {
      state.batch.changes.add(new StateChange.DedupeRemoved(brokerQueue.id, dedupeId));
    }
    return brokerQueue.dedupe.firstDue() == Long.MAX_VALUE;
  }
}
