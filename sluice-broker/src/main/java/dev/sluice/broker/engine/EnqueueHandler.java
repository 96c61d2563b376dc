package dev.sluice.broker.engine;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.accounting.DedupeWindow;
import dev.sluice.broker.store.MessageEnvelope;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Takes messages in. */
public final class EnqueueHandler {
  /** Ids to forget at a time: the rest waits for the next moment. */
  private static final int FORGET_AT_ONCE = 1_000;

  private final EngineState state;

  /** Wakes up to forget ids. */
  static final class DedupeTimer extends EngineTimer {
    final BrokerQueue line;

    DedupeTimer(BrokerQueue line) {
      this.line = line;
    }
  }

  private final Map<BrokerQueue, EnqueueHandler.DedupeTimer> forgetting = new HashMap<>();

  EnqueueHandler(EngineState state) {
    this.state = state;
  }

  /** Takes all of {@code submissions} or, with an exception, none. */
  public void enqueue(
      String queue, List<PreparedMessage> submissions, CompletableFuture<List<UUID>> future) {
    try {
      BrokerQueue line = state.line(queue);
      @Nullable UUID[] known = duplicates(line, submissions);
      requireKnownThrottles(line, submissions, known);
      requireRoom(line, submissions, known);
      List<UUID> ids = new ArrayList<>(submissions.size());
      for (int i = 0; i < known.length; i++) {
        UUID duplicate = known[i];
        ids.add(duplicate == null ? accept(line, submissions.get(i)) : duplicate);
      }
      state.batch.committed(line).answers.add(new Completion<>(future, ids));
    } catch (BrokerException refused) {
      state.metrics.rejected(queue, refused.code());
      state.outputs.refuse(future, refused);
    }
  }

  /** Which of {@code submissions} have been enqueued before. */
  private @Nullable UUID[] duplicates(BrokerQueue line, List<PreparedMessage> submissions) {
    @Nullable UUID[] known = new UUID[submissions.size()];
    for (int i = 0; i < known.length; i++) {
      String dedupeId = submissions.get(i).dedupeId();
      known[i] = dedupeId == null ? null : line.dedupe.find(dedupeId, state.now);
    }
    return known;
  }

  private void requireKnownThrottles(
      BrokerQueue line, List<PreparedMessage> submissions, @Nullable UUID[] known) {
    if (!line.config.strictThrottleKeys()) {
      return;
    }
    for (int i = 0; i < known.length; i++) {
      PreparedMessage submission = submissions.get(i);
      boolean isChecked = known[i] == null && !submission.isScripted();
      if (isChecked && countUnknownThrottle(line, submission)) {
        throw new BrokerException(
            Code.UNKNOWN_THROTTLE_KEY,
            "throttle key must have a rate in a queue with strict throttle keys: queue=%s, throttleKey=%s"
                .formatted(line.name, line.unknownThrottleKey));
      }
    }
  }

  /**
   * Counts {@code submission} if it names a throttle key without a rate; returns whether it does.
   */
  private boolean countUnknownThrottle(BrokerQueue line, PreparedMessage submission) {
    for (String key : submission.route().throttles().keySet()) {
      if (!state.scheduler.hasLimit(key)) {
        line.unknownThrottles++;
        line.unknownThrottleKey = key;
        return true;
      }
    }
    return false;
  }

  private void requireRoom(
      BrokerQueue line, List<PreparedMessage> submissions, @Nullable UUID[] known) {
    long more = 0;
    long moreBytes = 0;
    long moreHeap = 0;
    boolean remembers = line.config.dedupeWindow().toNanos() > 0;
    Set<InternedPlacement.Spec> newRoutes = new HashSet<>();
    Map<String, Long> byKey = new HashMap<>();
    long perKey = line.config.maxDepthPerKey();
    for (int i = 0; i < known.length; i++) {
      if (known[i] == null) {
        more++;
        PreparedMessage each = submissions.get(i);
        moreBytes += each.bytes();
        moreHeap += MessageEntry.HEAP_BYTES;
        if (!line.hasRoute(each.route()) && newRoutes.add(each.route())) {
          moreHeap += each.route().heapBytes();
        }
        String dedupeId = each.dedupeId();
        if (remembers && dedupeId != null) {
          moreHeap += DedupeWindow.heapBytes(dedupeId);
        }
        if (perKey > 0) {
          String key = each.route().key();
          long depth = byKey.merge(key, 1L, Long::sum) + line.depthOf(key);
          if (depth > perKey) {
            throw new BrokerException(
                Code.QUEUE_FULL,
                "the fairness key holds as many messages as it may: queue=%s, key=%s, maxDepthPerKey=%d"
                    .formatted(line.name, key, perKey));
          }
        }
      }
    }
    if (more > 0 && state.diskRoom <= moreBytes) {
      throw EngineState.diskFull();
    }
    state.messageRoom.require(moreHeap);
    long most = line.config.maxDepth();
    if (most > 0 && line.depth + more > most) {
      throw new BrokerException(
          Code.QUEUE_FULL,
          "the queue holds as many messages as it may: queue=%s, maxDepth=%d"
              .formatted(line.name, most));
    }
  }

  private UUID accept(BrokerQueue line, PreparedMessage submission) {
    String dedupeId = submission.dedupeId();
    long window = line.config.dedupeWindow().toNanos();
    if (dedupeId != null && window > 0) {
      UUID twin = line.dedupe.find(dedupeId, state.now);
      if (twin != null) {
        return twin;
      }
    }
    long ownTime = submission.timeToLiveNanos();
    long timeToLive = ownTime > 0 ? ownTime : line.config.timeToLive().toNanos();
    long expiresAt = timeToLive > 0 ? state.now + timeToLive : Long.MAX_VALUE;
    MessageEntry entry =
        state.create(line, submission.route(), submission.body().length, expiresAt);
    MessageEnvelope.stamp(submission.body(), state.now);
    long availableAt = state.now + submission.delayNanos();
    state.batch.facts.add(new StateChange.Enqueued(entry, availableAt, submission.body()));
    state.batch.bodyBytes += submission.bytes();
    state.diskRoom -= submission.bytes();
    CommitBatch.Effects committed = state.batch.committed(line);
    if (submission.delayNanos() == 0) {
      committed.ready.add(entry);
      state.keepBody(entry, submission.body());
    } else {
      committed.actions.add(() -> state.makeAvailable(entry, availableAt));
    }
    UUID id = entry.id();
    if (dedupeId != null && window > 0) {
      long until = state.now + window;
      remember(line, dedupeId, id, until);
      state.batch.facts.add(new StateChange.DedupeAdded(line.id, dedupeId, id, until));
    }
    if (countUnknownThrottle(line, submission)) {
      state.metrics.unknownThrottleKey(line.name);
    }
    line.enqueued++;
    state.metrics.enqueued(line.name, entry.route.spec.key());
    return id;
  }

  void remember(BrokerQueue line, String dedupeId, UUID id, long until) {
    line.dedupe.remember(dedupeId, id, until);
    state.timers.set(
        forgetting.computeIfAbsent(line, EnqueueHandler.DedupeTimer::new), line.dedupe.firstDue());
  }

  /** Forgets ids whose time is over. */
  void forget(EnqueueHandler.DedupeTimer due) {
    BrokerQueue line = due.line;
    for (String dedupeId : line.dedupe.forget(state.now, FORGET_AT_ONCE)) {
      state.batch.facts.add(new StateChange.DedupeRemoved(line.id, dedupeId));
    }
    if (line.dedupe.firstDue() == Long.MAX_VALUE) {
      forgetting.remove(line);
    } else {
      state.timers.set(due, line.dedupe.firstDue());
    }
  }

  /** {@code line} is gone. */
  void forgetAll(BrokerQueue line) {
    EnqueueHandler.DedupeTimer timer = forgetting.remove(line);
    if (timer != null) {
      state.timers.remove(timer);
    }
    for (String dedupeId : line.dedupe.forget(Long.MAX_VALUE, Integer.MAX_VALUE)) {
      state.batch.facts.add(new StateChange.DedupeRemoved(line.id, dedupeId));
    }
  }
}
