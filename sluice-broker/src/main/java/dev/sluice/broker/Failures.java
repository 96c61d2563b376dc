package dev.sluice.broker;

import dev.sluice.broker.BrokerState.FailureQuestion;
import dev.sluice.broker.DeadLetter.Reason;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Decides what becomes of messages that were not handled. */
final class Failures {
  static final String LEASE_EXPIRED = "lease expired";

  private static final Nack EXPIRED = new Nack(LEASE_EXPIRED, null);

  /** The least delay before a message that has nowhere to go as a dead letter is tried again. */
  private static final long NO_DEAD_LETTERS_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Before a message whose time is over is looked at again. */
  private static final long NO_ROOM_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The least delay before a message that could not be read is tried again. */
  private static final long UNREADABLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final BrokerState state;
  private final Dispatch dispatch;

  Failures(BrokerState state, Dispatch dispatch) {
    this.state = state;
    this.dispatch = dispatch;
  }

  /**
   * What a consumer says of a message that it could not handle.
   *
   * @param delay before it is tried again; null for what the queue says
   */
  record Nack(String error, @Nullable Duration delay) {
    /** Checks the delay and cuts an error that is too long. */
    static Nack of(String error, @Nullable Duration delay) {
      if (delay != null) {
        Checks.requireDuration("delay", delay, Duration.ZERO, QueueConfig.MAX_RETRY_DELAY);
      }
      boolean tooLong = error.length() > Broker.MAX_ERROR;
      return new Nack(tooLong ? error.substring(0, Broker.MAX_ERROR) : error, delay);
    }
  }

  /** A consumer says that it could not handle a message. */
  void nack(String queue, Dispatch.Claim claim, Nack nack, CompletableFuture<Void> future) {
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
  void unreadable(Lease lease, String error) {
    if (lease.entry.lease() == lease) {
      state.giveBackTokens(lease.entry);
      fail(lease, Nack.of(error, null), null);
    }
  }

  private void fail(Lease lease, Nack nack, @Nullable CompletableFuture<Void> future) {
    Entry entry = lease.entry;
    entry.line.failed++;
    state.metrics.failed(entry.line.name, entry.route.spec.key(), future == null);
    state.unschedule(entry);
    entry.stage = Entry.Stage.FAILING;
    FailureQuestion question = new FailureQuestion(entry, lease, entry.attempts + 1, nack, future);
    if (state.outputs.hasFailureHook(entry.line)) {
      state.outputs.askFailureHook(question);
    } else if (isLast(question) && mayBeUnread(question)) {
      probe(entry, () -> decide(question, false, backoff(question)));
    } else {
      decide(question, false, backoff(question));
    }
  }

  private static boolean isLast(FailureQuestion question) {
    int most = question.entry().line.config.maxAttempts();
    return most > 0 && question.attempts() >= most;
  }

  /** Returns whether it is unknown if the message can be read: no consumer has nacked it. */
  private boolean mayBeUnread(FailureQuestion question) {
    // A lease without a holder is from before a restart.
    boolean wasRead = question.future() != null && question.lease().holder != null;
    return !wasRead && state.outputs.isReadable(question.entry());
  }

  /**
   * Runs {@code next} once the writer has tried to read {@code entry}. A move that cannot be read
   * when it is written would stop the broker, and again after each restart.
   */
  private void probe(Entry entry, Runnable next) {
    state.batch.probes.add(entry);
    state.batch.whenWritten.actions.add(next);
  }

  private static long backoff(FailureQuestion question) {
    Entry entry = question.entry();
    return Backoff.delayNanos(entry.line.config, entry.sequence, question.attempts());
  }

  /** What {@code on_failure} says of a message that failed. */
  void verdict(FailureQuestion question, HookEngine.Verdict verdict) {
    boolean retries = verdict instanceof HookEngine.Retry;
    long millis = verdict instanceof HookEngine.Retry retry ? retry.delayMillis() : 0;
    decide(question, !retries, TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** {@code delayNanos} counts unless the consumer has named a delay. */
  private void decide(FailureQuestion question, boolean givesUp, long delayNanos) {
    Entry entry = question.entry();
    CompletableFuture<Void> future = question.future();
    state.discard(question.lease());
    if (entry.stage == Entry.Stage.GONE) {
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
    Line deadLetters = deadLettersOf(entry.line);
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
      state.batch.committed(entry.line).answers.add(Answer.done(future));
    }
  }

  private void retry(Entry entry, int attempts, long delayNanos) {
    long availableAt = state.now + delayNanos;
    entry.attempts = attempts;
    entry.stage = Entry.Stage.COMMITTING;
    state.batch.facts.add(new Fact.Failed(entry, attempts, availableAt));
    state.batch.committed(entry.line).actions.add(() -> state.makeAvailable(entry, availableAt));
  }

  /** A message may go now, or has waited too long. */
  void alarm(Alarm alarm) {
    Entry entry = alarm.entry;
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
  private void giveUp(Entry entry, long availableAt) {
    if (entry.stage == Entry.Stage.GONE) {
      return;
    }
    Line deadLetters = deadLettersOf(entry.line);
    if (deadLetters == null) {
      state.forget(entry);
      state.batch.facts.add(new Fact.Removed(entry));
    } else if (!canMove(entry)) {
      state.delay(entry, availableAt, state.now + NO_ROOM_NANOS);
    } else {
      bury(entry, deadLetters, Reason.TIME_TO_LIVE, "time to live is over");
    }
  }

  private @Nullable Line deadLettersOf(Line line) {
    Line found =
        DeadLetter.isDeadLetterQueue(line.name)
            ? null
            : state.lines.get(DeadLetter.queueOf(line.name));
    return found == null || found.deleting ? null : found;
  }

  /** Whether {@code entry} can be read, and there is room on the disk for a second copy of it. */
  private boolean canMove(Entry entry) {
    return hasRoom(entry) && state.outputs.isReadable(entry);
  }

  private boolean hasRoom(Entry entry) {
    return entry.bytes < state.diskRoom;
  }

  private void bury(Entry entry, Line deadLetters, Reason reason, String error) {
    Entry buried = state.move(entry, deadLetters, entry.route.spec, Long.MAX_VALUE);
    buried.attempts = entry.attempts;
    DeadLetter why = new DeadLetter(entry.line.name, entry.id(), reason, entry.attempts, error);
    state.forget(entry);
    state.batch.facts.add(new Fact.Moved(entry, buried, buried.attempts, state.now, why));
    state.batch.committed(entry.line).ready.add(buried);
    entry.line.deadLettered++;
    state.metrics.deadLettered(entry.line.name, entry.route.spec.key(), reason);
  }
}
