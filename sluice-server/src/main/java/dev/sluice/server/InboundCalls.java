package dev.sluice.server;

import io.grpc.Context;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * gRPC keeps what has come of a request until all of it is there, then hands it to a thread that
 * may be busy; a request of a unary call is kept until the client says that it was the last. The
 * bytes are counted as they come (a tracer is told of them on the connection's thread), until the
 * service has had the request, or the call is over. Beyond the budget the call at hand is ended,
 * which lets go of what it has.
 */

/** Bounds the bytes of gRPC requests that are in memory and not yet the service's. */
final class InboundCalls extends ServerStreamTracer.Factory implements ServerInterceptor {
  private static final Context.Key<Inbound> INBOUND = Context.key("inbound bytes");

  private static final Logger LOG = LoggerFactory.getLogger(InboundCalls.class);

  private final ByteBudget budget;

  InboundCalls(ByteBudget budget) {
    this.budget = budget;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    return new Inbound(budget.part());
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Inbound inbound = INBOUND.get();
    inbound.call = call;
    ServerCall.Listener<Q> service = next.startCall(call, headers);
    if (call.getMethodDescriptor().getType() == MethodType.UNARY) {
      return service;
    }
    return new SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onMessage(Q message) {
        super.onMessage(message);
        inbound.taken();
      }
    };
  }

  /** What one call has sent that is still here. */
  private static final class Inbound extends ServerStreamTracer {
    private final ByteBudget.Part part;
    private final Queue<Long> complete = new ConcurrentLinkedQueue<>();

    // Known before the first request is asked for.
    private volatile @Nullable ServerCall<?, ?> call;

    // Of the connection's thread.
    private long partial;
    private boolean refused;

    Inbound(ByteBudget.Part part) {
      this.part = part;
    }

    @Override
    public Context filterContext(Context context) {
      return context.withValue(INBOUND, this);
    }

    @Override
    public void inboundWireSize(long bytes) {
      if (refused) {
        return;
      }
      if (part.take(bytes)) {
        partial += bytes;
      } else {
        refused = true;
        refuse();
      }
    }

    @Override
    public void inboundMessageRead(int sequence, long wireSize, long size) {
      complete.add(partial);
      partial = 0;
    }

    /** The service has had one. */
    void taken() {
      Long bytes = complete.poll();
      if (bytes != null) {
        part.give(bytes);
      }
    }

    @Override
    public void streamClosed(Status status) {
      part.close();
    }

    private void refuse() {
      ServerCall<?, ?> open = call;
      ApiException why = ByteBudget.exhausted("requests");
      if (open instanceof KeyedStream<?, ?> stream) {
        stream.end(why);
      } else if (open != null) {
        try {
          open.close(why.toStatus().getStatus(), new Metadata());
        } catch (IllegalStateException answered) {
          LOG.debug("a call is over already", answered);
        }
      }
    }
  }
}
