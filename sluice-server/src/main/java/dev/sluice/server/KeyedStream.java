package dev.sluice.server;

import io.grpc.ForwardingServerCall;
import io.grpc.ForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/**
 * A stream that lasts no longer than the key it was opened with.
 *
 * <p>It is ended by another thread than those that write to it; whatever they still write is
 * dropped, and the service sees a client that has gone.
 */
final class KeyedStream<Q, A> extends ForwardingServerCall.SimpleForwardingServerCall<Q, A> {
  private final @Nullable String authorization;
  private final Caller caller;

  // Guarded by this.
  private boolean closed;
  private boolean ended;

  KeyedStream(ServerCall<Q, A> call, @Nullable String authorization, Caller caller) {
    super(call);
    this.authorization = authorization;
    this.caller = caller;
  }

  /** Ends the stream unless its key is valid and allows what it did. */
  void check(Access.Authenticator authenticator) {
    try {
      if (!authenticator.authenticate(authorization).equals(caller)) {
        end(new ApiException(ErrorKind.UNAVAILABLE, "the key's permissions changed; call again"));
      }
    } catch (RuntimeException refused) {
      end(ApiException.of(refused));
    }
  }

  /** As if the client had gone, but that it is told why. */
  synchronized void end(ApiException why) {
    if (!closed) {
      ended = true;
      close(why.toStatus().getStatus(), new Metadata());
    }
  }

  private synchronized boolean ended() {
    return ended;
  }

  @Override
  public synchronized void sendHeaders(Metadata headers) {
    if (!closed) {
      super.sendHeaders(headers);
    }
  }

  @Override
  public synchronized void sendMessage(A message) {
    if (!closed) {
      super.sendMessage(message);
    }
  }

  @Override
  public synchronized void close(Status status, Metadata trailers) {
    if (!closed) {
      closed = true;
      super.close(status, trailers);
    }
  }

  /** Hands on what comes, and calls {@code over} when nothing more will. */
  ServerCall.Listener<Q> listener(ServerCall.Listener<Q> service, Runnable over) {
    return new ForwardingServerCallListener.SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onCancel() {
        over.run();
        super.onCancel();
      }

      @Override
      public void onComplete() {
        over.run();
        if (ended()) {
          // The service did not close it and has to clean up.
          super.onCancel();
        } else {
          super.onComplete();
        }
      }
    };
  }
}
