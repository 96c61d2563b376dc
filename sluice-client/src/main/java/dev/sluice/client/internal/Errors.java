package dev.sluice.client.internal;

import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import io.grpc.Status;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Maps failures of gRPC and of the server to {@link SluiceClientException}. */
public final class Errors {
  private Errors() {}

  /** Returns the failure of a call on {@code part}, which is closed. */
  public static SluiceClientException closed(String part) {
    return new SluiceClientException(Code.CLOSED, part + " is closed");
  }

  /** Sets the thread's interrupt status and returns the failure of the interrupted call. */
  public static SluiceClientException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new SluiceClientException(
        Code.INTERRUPTED, "the thread was interrupted while it waited", cause);
  }

  /** Returns a new exception for {@code failure}, without the wrappers of futures. */
  public static SluiceClientException of(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof SluiceClientException known) {
      // A new exception has the stack trace of the waiting thread, which helps more than that of
      // the client thread that received the response.
      return new SluiceClientException(known.code(), String.valueOf(known.getMessage()), known);
    }
    Status status = Status.fromThrowable(cause);
    String description = status.getDescription();
    return new SluiceClientException(
        codeOf(status.getCode()),
        description == null ? status.getCode().name() : description,
        cause);
  }

  /** Returns the exception for an error that is part of a response. */
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
