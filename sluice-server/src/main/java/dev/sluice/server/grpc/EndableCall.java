package dev.sluice.server.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * A call is ended on the connection's thread, by a timer or by a change of its key while a worker
 * may be handing its request to the service. One lock orders the two:
 *
 *   ARRIVING -- the client has sent its last byte --> COMPLETE   (the service answers)
 *   ARRIVING -- refuse() ---------------------------> ENDED      (the service sees a cancellation)
 *   ARRIVING, COMPLETE -- end() --------------------> ENDED      (the service sees a cancellation)
 *
 * A unary service works when the request is complete, so a refused unary call is never executed. A
 * stream's messages are handed over one by one while it is ARRIVING; of an ended stream none is
 * handed over any more. Answers that the service writes after the call was closed are dropped.
 */

/** A gRPC call that the server can end before the service does. */
public final class EndableCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
  private static final Logger LOG = LoggerFactory.getLogger(EndableCall.class);

  private enum State {
    ARRIVING,
    COMPLETE,
    ENDED
  }

  // Guarded by this.
  private State state = State.ARRIVING;
  private boolean closed;
  private EndableCall.CallObserver observer = new EndableCall.CallObserver() {};

  public EndableCall(ServerCall<Q, A> call) {
    super(call);
  }

  /** Ends the call with {@code why}, unless its request is complete or it is over. */
  public synchronized void refuse(Status why) {
    if (state == State.ARRIVING) {
      end(why);
    }
  }

  /** Ends the call with {@code why}, unless it is over. */
  public synchronized void end(Status why) {
    if (!closed) {
      state = State.ENDED;
      try {
        close(why, new Metadata());
      } catch (IllegalStateException over) {
        // Closed below, as a call whose key has ended is. The thread may be that of another call.
        LOG.debug("the call has already ended", over);
      }
    }
  }

  private synchronized boolean isEnded() {
    // Before the state is read, because the observer may end the call.
    boolean valid = closed || observer.isValid();
    return !valid || state == State.ENDED;
  }

  private synchronized boolean complete() {
    if (state == State.ARRIVING) {
      state = State.COMPLETE;
    }
    return !isEnded();
  }

  @Override
  public boolean isCancelled() {
    return isEnded() || super.isCancelled();
  }

  @Override
  public synchronized void sendHeaders(Metadata headers) {
    if (!closed) {
      super.sendHeaders(headers);
    }
  }

  @Override
  public synchronized void sendMessage(A message) {
    tellAnswered();
    if (!isEnded() && !closed) {
      super.sendMessage(message);
    }
  }

  @Override
  public synchronized void close(Status status, Metadata trailers) {
    if (!closed) {
      closed = true;
      tellAnswered();
      super.close(status, trailers);
    }
  }

  /**
   * Reports a complete request as answered. Bytes of a refused one may not have been counted yet.
   */
  private synchronized void tellAnswered() {
    if (state == State.COMPLETE) {
      observer.answered();
    }
  }

  /** Gets the events of a call. */
  public interface CallObserver {
    /**
     * Returns whether messages may still pass, in either direction; asked before each one. An
     * observer that returns false ends the call.
     */
    default boolean isValid() {
      return true;
    }

    /** The service has taken a message. */
    default void taken() {}

    /** The last byte of the request has arrived. */
    default void complete() {}

    /** The answer to a complete request is known; called for each message of it and at the end. */
    default void answered() {}

    /** The call is over. */
    default void over() {}
  }

  /** Hands what arrives to {@code service}, until the call is ended. */
  public ServerCall.Listener<Q> listener(
      ServerCall.Listener<Q> service, EndableCall.CallObserver progress) {
    synchronized (this) {
      observer = progress;
    }
    return new SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onMessage(Q message) {
        if (!isEnded()) {
          super.onMessage(message);
          progress.taken();
        }
      }

      @Override
      public void onHalfClose() {
        progress.complete();
        if (EndableCall.this.complete()) {
          super.onHalfClose();
        }
      }

      @Override
      public void onCancel() {
        progress.over();
        super.onCancel();
      }

      @Override
      public void onComplete() {
        boolean ended = isEnded();
        progress.over();
        if (ended) {
          // The service did not close it and has to clean up.
          super.onCancel();
        } else {
          super.onComplete();
        }
      }
    };
  }
}
