package dev.sluice.client;

import io.grpc.Status;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The server refused, or could not be asked. The message is the server's where there is one.
 *
 * @since 0.1
 */
public final class SluiceClientException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Code code;

  /** What went wrong. */
  public enum Code {
    /** A value breaks a rule; the same request will fail again. */
    INVALID_ARGUMENT,
    /** There is no queue, message, lease, limit, ticket, reservation or key of that name. */
    NOT_FOUND,
    /** It is there already. */
    ALREADY_EXISTS,
    /** The state forbids it. */
    FAILED_PRECONDITION,
    /** A queue, the disk, the server or this client's buffer is full: try again later. */
    RESOURCE_EXHAUSTED,
    /** No key was given, or none that is valid. */
    UNAUTHENTICATED,
    /** The key does not allow it. */
    PERMISSION_DENIED,
    /** The server cannot be reached or is closing; whether the request was done is not known. */
    UNAVAILABLE,
    /** No answer came in time; whether the request was done is not known. */
    DEADLINE_EXCEEDED,
    /** The thread was interrupted while it waited. */
    INTERRUPTED,
    /** This client, producer or subscription is closed. */
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
   * What went wrong.
   *
   * @return the code
   */
  public Code code() {
    return code;
  }

  public static SluiceClientException closed(String what) {
    return new SluiceClientException(Code.CLOSED, what + " is closed");
  }

  public static SluiceClientException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new SluiceClientException(
        Code.INTERRUPTED, "the thread was interrupted while it waited", cause);
  }

  /** What to tell of {@code failure}. */
  public static SluiceClientException of(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof SluiceClientException known) {
      // A new one: the trace of a thread that waits is worth more than that of one that answers.
      return new SluiceClientException(known.code, String.valueOf(known.getMessage()), known);
    }
    Status status = Status.fromThrowable(cause);
    String description = status.getDescription();
    return new SluiceClientException(
        codeOf(status.getCode()),
        description == null ? status.getCode().name() : description,
        cause);
  }

  public static SluiceClientException of(dev.sluice.proto.v1.Error error) {
    Code code =
        switch (error.getCode()) {
          case INVALID_ARGUMENT -> Code.INVALID_ARGUMENT;
          case NOT_FOUND -> Code.NOT_FOUND;
          case ALREADY_EXISTS -> Code.ALREADY_EXISTS;
          case FAILED_PRECONDITION -> Code.FAILED_PRECONDITION;
          case RESOURCE_EXHAUSTED -> Code.RESOURCE_EXHAUSTED;
          case UNAUTHENTICATED -> Code.UNAUTHENTICATED;
          case PERMISSION_DENIED -> Code.PERMISSION_DENIED;
          case UNAVAILABLE -> Code.UNAVAILABLE;
          case INTERNAL, ERROR_CODE_UNSPECIFIED, UNRECOGNIZED -> Code.INTERNAL;
        };
    return new SluiceClientException(code, error.getMessage());
  }

  private static Code codeOf(Status.Code status) {
    return switch (status) {
      case INVALID_ARGUMENT, OUT_OF_RANGE -> Code.INVALID_ARGUMENT;
      case NOT_FOUND -> Code.NOT_FOUND;
      case ALREADY_EXISTS -> Code.ALREADY_EXISTS;
      case FAILED_PRECONDITION -> Code.FAILED_PRECONDITION;
      case RESOURCE_EXHAUSTED -> Code.RESOURCE_EXHAUSTED;
      case UNAUTHENTICATED -> Code.UNAUTHENTICATED;
      case PERMISSION_DENIED -> Code.PERMISSION_DENIED;
      case UNAVAILABLE, ABORTED, CANCELLED -> Code.UNAVAILABLE;
      case DEADLINE_EXCEEDED -> Code.DEADLINE_EXCEEDED;
      case OK, UNKNOWN, INTERNAL, DATA_LOSS, UNIMPLEMENTED -> Code.INTERNAL;
    };
  }
}
