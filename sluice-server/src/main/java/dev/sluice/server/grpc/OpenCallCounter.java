package dev.sluice.server.grpc;

import dev.sluice.server.transport.Readiness;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts open gRPC calls, and refuses new ones after a drain has begun. */
final class OpenCallCounter implements ServerInterceptor {
  // Guarded by this.
  private int open;
  private boolean closed;

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    if (!enter()) {
      call.close(Readiness.closing().toStatus().getStatus(), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    AtomicBoolean left = new AtomicBoolean();
    Runnable leave =
        () -> {
          if (left.compareAndSet(false, true)) {
            leave();
          }
        };
    try {
      return leaving(next.startCall(call, headers), leave);
    } catch (RuntimeException | Error failure) {
      leave.run();
      throw failure;
    }
  }

  private static <Q> ServerCall.Listener<Q> leaving(ServerCall.Listener<Q> service, Runnable over) {
    return new SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onCancel() {
        over.run();
        super.onCancel();
      }

      @Override
      public void onComplete() {
        over.run();
        super.onComplete();
      }
    };
  }

  private synchronized boolean enter() {
    if (!closed) {
      open++;
    }
    return !closed;
  }

  private synchronized void leave() {
    open--;
    notifyAll();
  }

  synchronized int count() {
    return open;
  }

  synchronized void refuse() {
    closed = true;
  }

  /** Waits until none is left; false if that takes longer. */
  synchronized boolean awaitNone(long nanos) throws InterruptedException {
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; open > 0; left = deadline - System.nanoTime()) {
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return true;
  }
}
