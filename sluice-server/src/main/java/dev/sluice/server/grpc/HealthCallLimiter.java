package dev.sluice.server.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Bounds the calls that one connection may have open without a key. Each connection has its own
 * bound, so that one client cannot use up the health checks of another; the number of connections
 * bounds the total.
 */
public final class HealthCallLimiter implements ServerInterceptor {
  public static final int MAX_OF_A_CONNECTION = 8;

  private final Map<Object, Integer> open = new ConcurrentHashMap<>();

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Object connection = RequestAdmission.connectionOf(call);
    if (open.merge(connection, 1, Integer::sum) > MAX_OF_A_CONNECTION) {
      leave(connection);
      call.close(
          Status.RESOURCE_EXHAUSTED.withDescription(
              "a connection must have at most %d health calls at once"
                  .formatted(MAX_OF_A_CONNECTION)),
          new Metadata());
      return new ServerCall.Listener<>() {};
    }
    AtomicBoolean left = new AtomicBoolean();
    Runnable leave =
        () -> {
          if (left.compareAndSet(false, true)) {
            leave(connection);
          }
        };
    return new SimpleForwardingServerCallListener<>(
        next.startCall(leavingWhenClosed(call, leave), headers)) {
      @Override
      public void onCancel() {
        leave.run();
        super.onCancel();
      }
    };
  }

  /** Frees the place before the client sees the end: its next call must not be refused. */
  private static <Q, A> ServerCall<Q, A> leavingWhenClosed(ServerCall<Q, A> call, Runnable leave) {
    return new SimpleForwardingServerCall<>(call) {
      @Override
      public void close(Status status, Metadata trailers) {
        leave.run();
        super.close(status, trailers);
      }
    };
  }

  private void leave(Object connection) {
    open.computeIfPresent(connection, (same, count) -> count == 1 ? null : count - 1);
  }
}
