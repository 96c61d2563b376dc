package dev.sluice.broker;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The broker refuses an operation, which has changed nothing, or has stopped.
 *
 * @since 0.1
 */
public final class BrokerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What is wrong. */
  public enum Code {
    /** No queue has that name. */
    QUEUE_NOT_FOUND,

    /** A queue of that name exists. */
    QUEUE_EXISTS,

    /** The queue is being deleted. */
    QUEUE_DELETED,

    /** The queue has another revision than the caller expects: its configuration was changed. */
    REVISION_MISMATCH,

    /** The queue, or the fairness key, holds as many messages as it may. */
    QUEUE_FULL,

    /** The queue has strict throttle keys, and a producer named one that has no rate. */
    UNKNOWN_THROTTLE_KEY,

    /** The message is not leased, or the token is not that of its present lease. */
    LEASE_NOT_FOUND,

    /** A queue that must not be adopted has the name of the new queue's dead-letter queue. */
    DEAD_LETTER_QUEUE_EXISTS,

    /** The queue holds no dead letters: its name does not end in {@code .dlq}. */
    NOT_A_DEAD_LETTER_QUEUE,

    /** The queue that dead letters came from does not exist any more. */
    SOURCE_NOT_FOUND,

    /** A script does not compile. */
    INVALID_HOOK,

    /** More is being enqueued than the broker, or the scripts of a queue, can take; try again. */
    BUSY,

    /** The scripts of one call used more than they may together; send fewer messages at once. */
    HOOK_BUDGET,

    /** The disk is nearly full: messages are not accepted, but can be settled. */
    DISK_FULL,

    /** Queues or messages take as much of the heap as they may; delete, settle or purge some. */
    HEAP_FULL,

    /** The consumer was closed. */
    CONSUMER_CLOSED,

    /** The directory cannot be opened or read, or what it holds is damaged. */
    STORE_FAILED,

    /**
     * The disk is full, and the broker waits for free space; try again later. A call that was under
     * way may or may not be stored.
     */
    WAITING_FOR_SPACE,

    /**
     * The broker is closed, or stopped after its store failed. A call that was under way may or may
     * not be stored.
     */
    STOPPED
  }

  /** What is wrong. */
  private final Code code;

  public BrokerException(Code code, @Nullable String message) {
    this(code, message, null);
  }

  public BrokerException(Code code, @Nullable String message, @Nullable Throwable cause) {
    super(message, cause, false, code == Code.STORE_FAILED || code == Code.STOPPED);
    this.code = Objects.requireNonNull(code);
  }

  /**
   * What is wrong.
   *
   * @return the code
   */
  public Code code() {
    return code;
  }
}
