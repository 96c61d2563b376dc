package dev.sluice.server;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/*
 * A call is refused on the connection's thread or by a timer while a worker may be handing its
 * request to the service. One lock orders the two:
 *
 *   ARRIVING -- the client has sent its last byte --> COMPLETE   (the service answers)
 *   ARRIVING -- refuse() ---------------------------> REFUSED    (the service sees a cancellation)
 *
 * A unary service works when the request is complete, so a refused unary call is never executed. A
 * stream's messages are handed over one by one while it is ARRIVING; of a refused stream none is
 * handed over any more. Answers that the service writes after the call was closed are dropped.
 */

/** A gRPC call that can be refused until all of its request has arrived. */
final class InboundCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
  private enum State {
    ARRIVING,
    COMPLETE,
    REFUSED
  }

  // Guarded by this.
  private State state = State.ARRIVING;
  private boolean closed;

  InboundCall(ServerCall<Q, A> call) {
    super(call);
  }

  /** Ends the call with {@code why}, unless its request is complete or it is over. */
  synchronized void refuse(Status why) {
    if (state == State.ARRIVING && !closed) {
      state = State.REFUSED;
      close(why, new Metadata());
    }
  }

  private synchronized boolean isRefused() {
    return state == State.REFUSED;
  }

  private synchronized boolean complete() {
    if (state == State.ARRIVING) {
      state = State.COMPLETE;
    }
    return state == State.COMPLETE;
  }

  @Override
  public boolean isCancelled() {
    return isRefused() || super.isCancelled();
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

  /** Is told how a request arrives. */
  interface Progress {
    /** The service has taken a message. */
    void taken();

    /** The last byte has come. */
    void complete();
  }

  /** Hands what arrives to {@code service}, until the call is refused. */
  ServerCall.Listener<Q> listener(ServerCall.Listener<Q> service, Progress progress) {
    return new SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onMessage(Q message) {
        if (!isRefused()) {
          super.onMessage(message);
          progress.taken();
        }
      }

      @Override
      public void onHalfClose() {
        progress.complete();
        if (complete()) {
          super.onHalfClose();
        }
      }

      @Override
      public void onComplete() {
        if (isRefused()) {
          // The service did not close it and has to clean up.
          super.onCancel();
        } else {
          super.onComplete();
        }
      }
    };
  }
}
