package dev.sluice.broker.engine;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.DeadLetter.Reason;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.hooks.HookEngine;
import dev.sluice.broker.store.Checks;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Decides what becomes of messages that were not handled. */
public final class FailureHandler {
  static final String LEASE_EXPIRED = "lease expired";

  private static final Nack EXPIRED = new Nack(LEASE_EXPIRED, null);

  /** The least delay before a message that has nowhere to go as a dead letter is tried again. */
  private static final long NO_DEAD_LETTERS_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Before a message whose time is over is looked at again. */
  private static final long NO_ROOM_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The least delay before a message that could not be read is tried again. */
  private static final long UNREADABLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final EngineState state;
  private final Dispatcher dispatch;

  FailureHandler(EngineState state, Dispatcher dispatch) {
    this.state = state;
    this.dispatch = dispatch;
  }

  /**
   * What a consumer says of a message that it could not handle.
   *
   * @param delay before it is tried again; null for what the queue says
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

  /** A consumer says that it could not handle a message. */
  public void nack(
      String queue, Dispatcher.LeaseRef claim, Nack nack, CompletableFuture<Void> future) {
    try {
      fail(dispatch.require(queue, claim), nack, future);
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  /** A consumer did not settle a message in time. */
  void expire(Lease lease) {
    fail(lease, EXPIRED, null);
  }

  /** A message could not be read for its consumer, which has not got it. */
  public void unreadable(Lease lease, String error) {
    if (lease.entry.lease() == lease) {
      state.giveBackTokens(lease.entry);
      fail(lease, Nack.of(error, null), null);
    }
  }

  private void fail(Lease lease, Nack nack, @Nullable CompletableFuture<Void> future) {
    MessageEntry entry = lease.entry;
    entry.line.failed++;
    state.metrics.failed(entry.line.name, entry.route.spec.key(), future == null);
    state.unschedule(entry);
    entry.stage = MessageEntry.Stage.FAILING;
    EngineState.FailureHookRequest question =
        new EngineState.FailureHookRequest(entry, lease, entry.attempts + 1, nack, future);
    if (state.outputs.hasFailureHook(entry.line)) {
      state.outputs.askFailureHook(question);
    } else if (isLast(question) && mayBeUnread(question)) {
      probe(entry, () -> decide(question, false, backoff(question)));
    } else {
      decide(question, false, backoff(question));
    }
  }

  private static boolean isLast(EngineState.FailureHookRequest question) {
    int most = question.entry().line.config.maxAttempts();
    return most > 0 && question.attempts() >= most;
  }

  /** Returns whether it is unknown if the message can be read: no consumer has nacked it. */
  private boolean mayBeUnread(EngineState.FailureHookRequest question) {
    // A lease without a holder is from before a restart.
    boolean wasRead = question.future() != null && question.lease().holder != null;
    return !wasRead && state.outputs.isReadable(question.entry());
  }

  /**
   * Runs {@code next} once the writer has tried to read {@code entry}. A move that cannot be read
   * when it is written would stop the broker, and again after each restart.
   */
  private void probe(MessageEntry entry, Runnable next) {
    state.batch.probes.add(entry);
    state.batch.whenWritten.actions.add(next);
  }

  private static long backoff(EngineState.FailureHookRequest question) {
    MessageEntry entry = question.entry();
    return RetryBackoff.delayNanos(entry.line.config, entry.sequence, question.attempts());
  }

  /** What {@code on_failure} says of a message that failed. */
  public void verdict(EngineState.FailureHookRequest question, HookEngine.FailureResult verdict) {
    boolean retries = verdict instanceof HookEngine.Retry;
    long millis = verdict instanceof HookEngine.Retry retry ? retry.delayMillis() : 0;
    decide(question, !retries, TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** {@code delayNanos} counts unless the consumer has named a delay. */
  private void decide(EngineState.FailureHookRequest question, boolean givesUp, long delayNanos) {
    MessageEntry entry = question.entry();
    CompletableFuture<Void> future = question.future();
    state.discard(question.lease());
    if (entry.stage == MessageEntry.Stage.GONE) {
      if (future != null) {
        state.outputs.refuse(
            future,
            new BrokerException(
                BrokerException.Code.QUEUE_DELETED,
                "the queue is being deleted: queue=" + entry.line.name));
      }
      return;
    }
    boolean last = isLast(question);
    BrokerQueue deadLetters = deadLettersOf(entry.line);
    Duration named = question.nack().delay();
    long wanted = named == null ? delayNanos : named.toNanos();
    long delay = state.outputs.isReadable(entry) ? wanted : Math.max(UNREADABLE_NANOS, wanted);
    if (!givesUp && !last) {
      retry(entry, question.attempts(), delay);
    } else if (deadLetters == null || !canMove(entry)) {
      retry(entry, question.attempts(), Math.max(NO_DEAD_LETTERS_NANOS, delay));
    } else {
      entry.attempts = question.attempts();
      Reason reason = last ? Reason.MAX_ATTEMPTS : Reason.SCRIPT;
      bury(entry, deadLetters, reason, question.nack().error());
    }
    if (future != null) {
      state.batch.committed(entry.line).answers.add(Completion.done(future));
    }
  }

  private void retry(MessageEntry entry, int attempts, long delayNanos) {
    long availableAt = state.now + delayNanos;
    entry.attempts = attempts;
    entry.stage = MessageEntry.Stage.COMMITTING;
    state.batch.facts.add(new StateChange.Failed(entry, attempts, availableAt));
    state.batch.committed(entry.line).actions.add(() -> state.makeAvailable(entry, availableAt));
  }

  /** A message may go now, or has waited too long. */
  void alarm(MessageTimer alarm) {
    MessageEntry entry = alarm.entry;
    state.unschedule(entry);
    if (state.now < entry.expiresAt) {
      state.makeAvailable(entry, alarm.availableAt);
      return;
    }
    if (deadLettersOf(entry.line) == null || !hasRoom(entry)) {
      giveUp(entry, alarm.availableAt);
    } else {
      probe(entry, () -> giveUp(entry, alarm.availableAt));
    }
  }

  /** Ends the time to live of a message; looks at it again later if it cannot be moved. */
  private void giveUp(MessageEntry entry, long availableAt) {
    if (entry.stage == MessageEntry.Stage.GONE) {
      return;
    }
    BrokerQueue deadLetters = deadLettersOf(entry.line);
    if (deadLetters == null) {
      state.forget(entry);
      state.batch.facts.add(new StateChange.Removed(entry));
    } else if (!canMove(entry)) {
      state.delay(entry, availableAt, state.now + NO_ROOM_NANOS);
    } else {
      bury(entry, deadLetters, Reason.TIME_TO_LIVE, "time to live is over");
    }
  }

  private @Nullable BrokerQueue deadLettersOf(BrokerQueue line) {
    BrokerQueue found =
        QueueNames.isDeadLetterQueue(line.name)
            ? null
            : state.lines.get(QueueNames.deadLetterQueueOf(line.name));
    return found == null || found.deleting ? null : found;
  }

  /** Whether {@code entry} can be read, and there is room on the disk for a second copy of it. */
  private boolean canMove(MessageEntry entry) {
    return hasRoom(entry) && state.outputs.isReadable(entry);
  }

  private boolean hasRoom(MessageEntry entry) {
    return entry.bytes < state.diskRoom;
  }

  private void bury(MessageEntry entry, BrokerQueue deadLetters, Reason reason, String error) {
    MessageEntry buried = state.move(entry, deadLetters, entry.route.spec, Long.MAX_VALUE);
    buried.attempts = entry.attempts;
    DeadLetter why = new DeadLetter(entry.line.name, entry.id(), reason, entry.attempts, error);
    state.forget(entry);
    state.batch.facts.add(new StateChange.Moved(entry, buried, buried.attempts, state.now, why));
    state.batch.committed(entry.line).ready.add(buried);
    entry.line.deadLettered++;
    state.metrics.deadLettered(entry.line.name, entry.route.spec.key(), reason);
  }
}
