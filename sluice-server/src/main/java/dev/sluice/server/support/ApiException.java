package dev.sluice.server.support;

import dev.sluice.broker.BrokerException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A refused request, with a message for its caller. */
public final class ApiException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(ApiException.class);

  /**
   * Room for a rule and some 200 characters of the value that broke it; short enough for the
   * trailers of a gRPC call, even percent-encoded.
   */
  static final int MAX_MESSAGE = 320;

  private final ErrorKind kind;

  public ApiException(ErrorKind kind, String message) {
    this(kind, message, null);
  }

  private ApiException(ErrorKind kind, String message, @Nullable Throwable cause) {
    super(cut(message), cause, false, false);
    this.kind = kind;
  }

  private static String cut(String message) {
    return message.length() > MAX_MESSAGE ? message.substring(0, MAX_MESSAGE) + "..." : message;
  }

  public ErrorKind kind() {
    return kind;
  }

  public static ApiException invalid(String message) {
    return new ApiException(ErrorKind.INVALID_ARGUMENT, message);
  }

  public static ApiException notFound(String message) {
    return new ApiException(ErrorKind.NOT_FOUND, message);
  }

  /** Returns the error for {@code failure}; faults of the server are logged, not disclosed. */
  public static ApiException of(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof ApiException known) {
      return known;
    }
    if (cause instanceof BrokerException broker) {
      return new ApiException(kindOf(broker.code()), String.valueOf(broker.getMessage()), broker);
    }
    if (cause instanceof IllegalArgumentException argument) {
      return new ApiException(
          ErrorKind.INVALID_ARGUMENT, String.valueOf(argument.getMessage()), argument);
    }
    LOG.error("a request failed", cause);
    return new ApiException(
        ErrorKind.INTERNAL, "internal error; the server's log has the cause", cause);
  }

  private static ErrorKind kindOf(BrokerException.Code code) {
    return switch (code) {
      case QUEUE_NOT_FOUND, LEASE_NOT_FOUND, QUEUE_DELETED -> ErrorKind.NOT_FOUND;
      case QUEUE_EXISTS, DEAD_LETTER_QUEUE_EXISTS -> ErrorKind.ALREADY_EXISTS;
      case QUEUE_FULL, BUSY, HOOK_BUDGET, DISK_FULL, HEAP_FULL -> ErrorKind.RESOURCE_EXHAUSTED;
      case SOURCE_NOT_FOUND, REVISION_MISMATCH -> ErrorKind.FAILED_PRECONDITION;
      case NOT_A_DEAD_LETTER_QUEUE, INVALID_HOOK, UNKNOWN_THROTTLE_KEY ->
          ErrorKind.INVALID_ARGUMENT;
      case CONSUMER_CLOSED, WAITING_FOR_SPACE, STOPPED -> ErrorKind.UNAVAILABLE;
      case STORE_FAILED -> ErrorKind.INTERNAL;
    };
  }

  public StatusRuntimeException toStatus() {
    return Status.fromCode(kind.grpc).withDescription(getMessage()).asRuntimeException();
  }

  public dev.sluice.proto.v1.Error toWire() {
    return dev.sluice.proto.v1.Error.newBuilder()
        .setCode(kind.wire)
        .setMessage(String.valueOf(getMessage()))
        .build();
  }
}
