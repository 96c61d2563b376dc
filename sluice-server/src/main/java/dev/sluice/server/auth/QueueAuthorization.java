package dev.sluice.server.auth;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/*
 * A permission on queue x holds for its dead-letter queue x.dlq while x exists, never the reverse.
 * Without x, x.dlq is a queue like any other. Two races could hand one key's queue to another key:
 *
 * - x is created while another caller creates x.dlq. The broker decides on its own thread whether x
 *   may adopt x.dlq.
 * - x is deleted, and x.dlq with it, and another caller creates x.dlq, between the check that x
 *   exists and the call on x.dlq. A call that is allowed by x alone holds a read lock from the check
 *   until the broker has the call; the creation of a queue of such a name holds the write lock.
 *   Changes of a queue do not wait for the broker under the read lock: a creation that waits for
 *   the lock keeps all other calls from it. Reads wait for one page, and a consumer for its start.
 *
 * Locks are striped by name. No thread waits for a lock while it holds one of another name: only
 * calls on x.dlq lock, and a redrive, which nests a call on x, locks x.dlq alone. A caller without a
 * permission on x or x.dlq is refused without a lock, so that it cannot block others.
 */

/** Checks whether a caller may use a queue, and keeps that true until the call has been made. */
public final class QueueAuthorization {
  private static final int STRIPES = 64;

  private final Broker broker;
  private final ReadWriteLock[] stripes =
      Stream.generate(ReentrantReadWriteLock::new).limit(STRIPES).toArray(ReadWriteLock[]::new);

  public QueueAuthorization(Broker broker) {
    this.broker = broker;
  }

  /**
   * Returns whether a permission for the source of the dead-letter queue {@code queue} suffices.
   */
  private static boolean mayBySource(
      Caller caller, Kind kind, String queue, Predicate<String> exists) {
    return hasSourcePermission(caller, kind, queue) && exists.test(QueueNames.sourceOf(queue));
  }

  private static boolean hasSourcePermission(Caller caller, Kind kind, String queue) {
    String source = QueueNames.sourceOf(queue);
    return !source.equals(queue)
        && !QueueNames.isDeadLetterQueue(source)
        && caller.may(kind, source);
  }

  private ReadWriteLock stripe(String queue) {
    return stripes[Math.floorMod(queue.hashCode(), STRIPES)];
  }

  private static <T> T holding(Lock lock, Supplier<T> work) {
    lock.lock();
    try {
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns whether the caller has {@code kind} for a queue; {@code exists} tells which queues
   * exist.
   */
  public static boolean may(Caller caller, Kind kind, String queue, Predicate<String> exists) {
    return caller.may(kind, queue) || mayBySource(caller, kind, queue, exists);
  }

  /**
   * Checks the permission and does {@code work}, which must have handed the call to the broker when
   * it returns. Work that may take long returns a future, for which the caller waits.
   */
  public <T> T call(Caller caller, Kind kind, String queue, Supplier<T> work) {
    if (queue.isEmpty()) {
      throw ApiException.invalid("queue must not be empty");
    }
    if (caller.may(kind, queue)) {
      return work.get();
    }
    if (!hasSourcePermission(caller, kind, queue)) {
      throw denied(kind, queue);
    }
    return holding(
        stripe(queue).readLock(),
        () -> {
          if (!exists(QueueNames.sourceOf(queue))) {
            throw denied(kind, queue);
          }
          return work.get();
        });
  }

  private static ApiException denied(Kind kind, String queue) {
    return Caller.denied(kind.word() + " on " + queue);
  }

  private boolean exists(String queue) {
    return broker.queue(queue).isPresent();
  }

  /** Runs {@code work} if the caller is authorized, as {@link #call} does. */
  public void run(Caller caller, Kind kind, String queue, Runnable work) {
    call(
        caller,
        kind,
        queue,
        () -> {
          work.run();
          return true;
        });
  }

  public void require(Caller caller, Kind kind, String queue) {
    run(caller, kind, queue, () -> {});
  }

  /**
   * Creates a queue. To create x when x.dlq exists needs a permission that matches x.dlq itself.
   * {@code quota} reserves the queue in the caller's quota while it is being created, or throws if
   * the quota is used up.
   */
  public void create(
      Caller caller, String queue, QueueConfig config, Supplier<ConcurrencyQuota.Hold> quota) {
    if (QueueNames.isDeadLetterQueue(queue)) {
      require(caller, Kind.ADMIN, queue);
      holding(
          stripe(queue).writeLock(),
          () -> call(caller, Kind.ADMIN, queue, () -> created(queue, config, true, quota)));
    } else {
      String deadLetters = QueueNames.deadLetterQueueOf(queue);
      boolean mayAdopt = caller.may(Kind.ADMIN, deadLetters);
      call(caller, Kind.ADMIN, queue, () -> created(queue, config, mayAdopt, quota));
    }
  }

  private boolean created(
      String queue, QueueConfig config, boolean mayAdopt, Supplier<ConcurrencyQuota.Hold> quota) {
    ConcurrencyQuota.Hold place = quota.get();
    try {
      broker.createQueue(queue, config, mayAdopt);
      return true;
    } catch (BrokerException refused) {
      if (refused.code() == BrokerException.Code.DEAD_LETTER_QUEUE_EXISTS) {
        throw Caller.denied(
            "admin on %s%s, a queue that exists".formatted(queue, QueueNames.DEAD_LETTER_SUFFIX));
      }
      throw refused;
    } finally {
      place.close();
    }
  }
}
