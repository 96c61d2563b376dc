package dev.sluice.broker.internal.engine;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.DeadLetter.Reason;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.util.Checks;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Decides whether failed messages are retried or dead-lettered. */
public final class FailureHandler {
  static final String LEASE_EXPIRED = "lease expired";

  private static final Nack EXPIRED = new Nack(LEASE_EXPIRED, null);

  /** The least delay before a message that has nowhere to go as a dead letter is tried again. */
  private static final long NO_DEAD_LETTER_QUEUE_DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Before a message whose time is over is looked at again. */
  private static final long CANNOT_MOVE_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The same without heap; there may be as many of these messages as the heap has room for. */
  private static final long HEAP_FULL_RETRY_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** The least delay before a message that could not be read is tried again. */
  private static final long UNREADABLE_DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final EngineState state;
  private final Dispatcher dispatcher;

  FailureHandler(EngineState state, Dispatcher dispatch) {
    this.state = state;
    this.dispatcher = dispatch;
  }

  /**
   * A negative acknowledgement.
   *
   * @param delay the time until it can be delivered again; null for the delay of the queue
   */
  public record Nack(String error, @Nullable Duration delay) {
    /** Checks the delay and cuts an error that is too long. */
    public static Nack of(String error, @Nullable Duration delay) {
      if (delay != null) {
        Checks.requireDuration("delay", delay, Duration.ZERO, QueueConfig.MAX_RETRY_DELAY);
      }
      boolean tooLong = error.length() > Broker.MAX_ERROR_LENGTH;
      return new Nack(tooLong ? error.substring(0, Broker.MAX_ERROR_LENGTH) : error, delay);
    }
  }

  /** Fails a message for its consumer. */
  public void nack(
      String queue, Dispatcher.LeaseRef claim, Nack nack, CompletableFuture<Void> future) {
    try {
      fail(dispatcher.require(queue, claim), nack, future);
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  /** Fails a message whose lease has expired. */
  void expire(Lease lease) {
    fail(lease, EXPIRED, null);
  }

  /** Fails a message that could not be read for its consumer, and returns its tokens. */
  public void unreadable(Lease lease, String error) {
    if (lease.entry.lease() == lease) {
      state.returnTokens(lease.entry);
      fail(lease, Nack.of(error, null), null);
    }
  }

  private void fail(Lease lease, Nack nack, @Nullable CompletableFuture<Void> future) {
    MessageEntry entry = lease.entry;
    entry.queue.failed++;
    state.metrics.failed(entry.queue.name, entry.placement.spec.fairnessKey(), future == null);
    state.unschedule(entry);
    entry.stage = MessageEntry.Stage.FAILING;
    EngineState.FailureHookRequest request =
        new EngineState.FailureHookRequest(entry, lease, entry.attempts + 1, nack, future);
    if (state.callbacks.hasFailureHook(entry.queue)) {
      state.callbacks.runFailureHook(request);
    } else if (isLast(request) && mayBeUnread(request)) {
      probe(entry, () -> decide(request, false, backoff(request)));
    } else {
      decide(request, false, backoff(request));
    }
  }

  private static boolean isLast(EngineState.FailureHookRequest request) {
    int max = request.entry().queue.config.maxAttempts();
    return max > 0 && request.attempts() >= max;
  }

  /** Returns whether it is unknown if the message can be read: no consumer has nacked it. */
  private boolean mayBeUnread(EngineState.FailureHookRequest request) {
    // A lease without a holder is from before a restart.
    boolean wasRead = request.future() != null && request.lease().holder != null;
    return !wasRead && state.callbacks.isReadable(request.entry());
  }

  /**
   * Runs {@code next} once the writer has tried to read {@code entry}. A move that cannot be read
   * when it is written would stop the broker, and again after each restart.
   */
  private void probe(MessageEntry entry, Runnable next) {
    state.batch.probes.add(entry);
    state.batch.whenWritten.actions.add(next);
  }

  private static long backoff(EngineState.FailureHookRequest request) {
    MessageEntry entry = request.entry();
    return RetryBackoff.delayNanos(entry.queue.config, entry.sequence, request.attempts());
  }

  /** Applies the result of {@code on_failure} to a message that failed. */
  public void applyHookResult(
      EngineState.FailureHookRequest request, HookEngine.FailureResult result) {
    boolean retries = result instanceof HookEngine.Retry;
    long millis = result instanceof HookEngine.Retry retry ? retry.delayMillis() : 0;
    decide(request, !retries, TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Retries or gives up; a delay of the nack replaces {@code delayNanos}. */
  private void decide(EngineState.FailureHookRequest request, boolean givesUp, long delayNanos) {
    MessageEntry entry = request.entry();
    CompletableFuture<Void> future = request.future();
    state.discard(request.lease());
    if (entry.stage == MessageEntry.Stage.GONE) {
      if (future != null) {
        state.callbacks.reject(
            future,
            new BrokerException(
                BrokerException.Code.QUEUE_DELETED,
                "the queue is being deleted: queue=" + entry.queue.name));
      }
      return;
    }
    boolean last = isLast(request);
    BrokerQueue deadLetters = deadLettersOf(entry.queue);
    Duration named = request.nack().delay();
    long wanted = named == null ? delayNanos : named.toNanos();
    long delay =
        state.callbacks.isReadable(entry) ? wanted : Math.max(UNREADABLE_DELAY_NANOS, wanted);
    if (!givesUp && !last) {
      retry(entry, request.attempts(), delay);
    } else if (deadLetters == null || !canMove(entry, deadLetters)) {
      retry(entry, request.attempts(), Math.max(NO_DEAD_LETTER_QUEUE_DELAY_NANOS, delay));
    } else {
      entry.attempts = request.attempts();
      Reason reason = last ? Reason.MAX_ATTEMPTS : Reason.SCRIPT;
      moveToDeadLetters(entry, deadLetters, reason, request.nack().error());
    }
    if (future != null) {
      state.batch.whenDurable(entry.queue).completions.add(Completion.done(future));
    }
  }

  private void retry(MessageEntry entry, int attempts, long delayNanos) {
    long availableAt = state.now + delayNanos;
    entry.attempts = attempts;
    entry.stage = MessageEntry.Stage.COMMITTING;
    state.batch.changes.add(new StateChange.Failed(entry, attempts, availableAt));
    state.batch.whenDurable(entry.queue).actions.add(() -> state.makeAvailable(entry, availableAt));
  }

  /** Makes a delayed message available, or expires it. */
  void fire(MessageTimer alarm) {
    MessageEntry entry = alarm.entry;
    state.unschedule(entry);
    if (state.now < entry.expiresAt) {
      state.makeAvailable(entry, alarm.availableAt);
      return;
    }
    BrokerQueue deadLetters = deadLettersOf(entry.queue);
    if (deadLetters == null || !hasRoom(entry, deadLetters)) {
      expireMessage(entry, alarm.availableAt);
    } else {
      probe(entry, () -> expireMessage(entry, alarm.availableAt));
    }
  }

  /** Ends the time to live of a message; looks at it again later if it cannot be moved. */
  private void expireMessage(MessageEntry entry, long availableAt) {
    if (entry.stage == MessageEntry.Stage.GONE) {
      return;
    }
    BrokerQueue deadLetters = deadLettersOf(entry.queue);
    if (deadLetters == null) {
      state.forget(entry);
      state.batch.changes.add(new StateChange.Removed(entry));
    } else if (!canMove(entry, deadLetters)) {
      boolean hasHeap = state.hasHeapToMove(entry, deadLetters);
      long wait = hasHeap ? CANNOT_MOVE_RETRY_NANOS : HEAP_FULL_RETRY_NANOS;
      state.delay(entry, availableAt, state.now + wait);
    } else {
      moveToDeadLetters(entry, deadLetters, Reason.TIME_TO_LIVE, "time to live is over");
    }
  }

  private @Nullable BrokerQueue deadLettersOf(BrokerQueue brokerQueue) {
    BrokerQueue found =
        QueueNames.isDeadLetterQueue(brokerQueue.name)
            ? null
            : state.queues.get(QueueNames.deadLetterQueueOf(brokerQueue.name));
    return found == null || found.deleting ? null : found;
  }

  private boolean canMove(MessageEntry entry, BrokerQueue deadLetters) {
    return hasRoom(entry, deadLetters) && state.callbacks.isReadable(entry);
  }

  /** Whether there is room on the disk for a second copy, and in the heap for its placement. */
  private boolean hasRoom(MessageEntry entry, BrokerQueue deadLetters) {
    return hasDiskSpace(entry) && state.hasHeapToMove(entry, deadLetters);
  }

  private boolean hasDiskSpace(MessageEntry entry) {
    return entry.bytes < state.diskSpaceLeft;
  }

  private void moveToDeadLetters(
      MessageEntry entry, BrokerQueue deadLetters, Reason reason, String error) {
    MessageEntry deadLetter = state.move(entry, deadLetters, entry.placement.spec, Long.MAX_VALUE);
    deadLetter.attempts = entry.attempts;
    DeadLetter why = new DeadLetter(entry.queue.name, entry.id(), reason, entry.attempts, error);
    state.forget(entry);
    state.batch.changes.add(
        new StateChange.Moved(entry, deadLetter, deadLetter.attempts, state.now, why));
    state.batch.whenDurable(entry.queue).ready.add(deadLetter);
    entry.queue.deadLettered++;
    state.metrics.deadLettered(entry.queue.name, entry.placement.spec.fairnessKey(), reason);
  }
}
