package dev.sluice.broker;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when the broker refuses an operation.
 *
 * <p>Nothing has changed, unless the code is {@link Code#WAITING_FOR_SPACE} or {@link
 * Code#STOPPED}.
 *
 * @since 0.1
 */
public final class BrokerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The reasons of a refusal. */
  public enum Code {
    /** No queue has that name. */
    QUEUE_NOT_FOUND,

    /** A queue of that name exists. */
    QUEUE_EXISTS,

    /** The queue is being deleted. */
    QUEUE_DELETED,

    /** The queue has another revision than the caller expects: its configuration was changed. */
    REVISION_MISMATCH,

    /** The queue or the fairness key holds its maximum of messages. */
    QUEUE_FULL,

    /** The queue has strict throttle keys, and a producer named one without a limit. */
    UNKNOWN_THROTTLE_KEY,

    /** The message is not leased, or the token is not the one of its present lease. */
    LEASE_NOT_FOUND,

    /** A queue that must not be adopted has the name of the new queue's dead-letter queue. */
    DEAD_LETTER_QUEUE_EXISTS,

    /** The queue holds no dead letters: its name does not end in {@code .dlq}. */
    NOT_A_DEAD_LETTER_QUEUE,

    /** The queue that dead letters came from does not exist any more. */
    SOURCE_NOT_FOUND,

    /** A hook does not compile. */
    INVALID_HOOK,

    /** Too many messages are on their way into the broker or to the hooks of a queue; try again. */
    BUSY,

    /** The hooks of one call exceeded their common budget; send fewer messages at once. */
    HOOK_BUDGET,

    /** The disk is nearly full: messages are not accepted, but can be settled. */
    DISK_FULL,

    /** Queues or messages take their maximum of the heap; delete, settle or purge some. */
    HEAP_FULL,

    /** The consumer was closed. */
    CONSUMER_CLOSED,

    /** The directory cannot be opened or read, or its content is damaged. */
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

  /** The reason. */
  private final Code code;

  public BrokerException(Code code, @Nullable String message) {
    this(code, message, null);
  }

  public BrokerException(Code code, @Nullable String message, @Nullable Throwable cause) {
    super(message, cause, false, code == Code.STORE_FAILED || code == Code.STOPPED);
    this.code = Objects.requireNonNull(code);
  }

  /**
   * Returns the reason.
   *
   * @return the code
   */
  public Code code() {
    return code;
  }
}
