package dev.sluice.client;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the server refused a call, could not be reached or did not answer. The message is the
 * server's if it sent one.
 *
 * @since 0.1
 */
public final class SluiceClientException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Code code;

  /** Kinds of failures. */
  public enum Code {
    /** A value breaks a rule; the same request will fail again. */
    INVALID_ARGUMENT,
    /** The queue, message, lease, limit, ticket, reservation or API key does not exist. */
    NOT_FOUND,
    /** The name is taken. */
    ALREADY_EXISTS,
    /** The state of the resource does not allow the call. */
    FAILED_PRECONDITION,
    /** A queue, the disk, the server or this client's buffer is full: try again later. */
    RESOURCE_EXHAUSTED,
    /** The call has no API key or an invalid one. */
    UNAUTHENTICATED,
    /** The API key does not permit the call. */
    PERMISSION_DENIED,
    /** The server cannot be reached or is closing; the call may or may not have been applied. */
    UNAVAILABLE,
    /** The server did not answer in time; the call may or may not have been applied. */
    DEADLINE_EXCEEDED,
    /** The thread was interrupted while it waited. */
    INTERRUPTED,
    /** This client, producer or consumer is closed. */
    CLOSED,
    /** A defect of the server or of this client. */
    INTERNAL
  }

  public SluiceClientException(Code code, String message) {
    this(code, message, null);
  }

  public SluiceClientException(Code code, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  /**
   * Returns the kind of failure.
   *
   * @return the code
   */
  public Code code() {
    return code;
  }
}
