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
 * <p>Another thread than those that write to it ends the stream. Messages written or received after
 * that are dropped, and the service sees a client that has gone.
 */
final class KeyedStream<Q, A> extends ForwardingServerCall.SimpleForwardingServerCall<Q, A> {
  // Guarded by this.
  private @Nullable KeyWatch watch;
  private boolean closed;
  private boolean ended;

  KeyedStream(ServerCall<Q, A> call) {
    super(call);
  }

  /** Ends the stream as if the client had gone, and tells the client why. */
  synchronized void end(ApiException why) {
    if (!closed) {
      ended = true;
      close(why.toStatus().getStatus(), new Metadata());
    }
  }

  /** Whether its key has ended it; does so if the key has expired. */
  private synchronized boolean hasEnded() {
    KeyWatch key = watch;
    if (key != null && !closed && !key.isValid()) {
      // The end may be on its way, on another thread.
      return true;
    }
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
    if (!closed && !hasEnded()) {
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

  /** Hands on what comes as long as {@code key} stays as it is; runs {@code over} at the end. */
  ServerCall.Listener<Q> listener(ServerCall.Listener<Q> service, KeyInUse key, Runnable over) {
    KeyWatch watched = key.watch(this::end);
    synchronized (this) {
      watch = watched;
    }
    return new ForwardingServerCallListener.SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onMessage(Q message) {
        if (!hasEnded()) {
          super.onMessage(message);
        }
      }

      @Override
      public void onHalfClose() {
        if (!hasEnded()) {
          super.onHalfClose();
        }
      }

      @Override
      public void onCancel() {
        watched.close();
        over.run();
        super.onCancel();
      }

      @Override
      public void onComplete() {
        boolean byKey = hasEnded();
        watched.close();
        over.run();
        if (byKey) {
          // The service did not close it and has to clean up.
          super.onCancel();
        } else {
          super.onComplete();
        }
      }
    };
  }
}
