package dev.sluice.server.grpc;

import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;

/**
 * Lets a service send the headers of its answer before there is one. They go out with the first
 * message otherwise, and many a client takes a stream for open only when it has them.
 */
public final class EarlyHeadersInterceptor implements ServerInterceptor {
  private static final Context.Key<Runnable> SEND = Context.key("send headers");

  private EarlyHeadersInterceptor() {}

  public static ServerServiceDefinition before(BindableService service) {
    return ServerInterceptors.intercept(service, new EarlyHeadersInterceptor());
  }

  /** Sends those of the call at hand; not at the same time as messages. */
  public static void send() {
    SEND.get().run();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    HeadersOnce<Q, A> once = new HeadersOnce<>(call);
    Runnable send = () -> once.sendHeaders(new Metadata());
    return Contexts.interceptCall(Context.current().withValue(SEND, send), once, headers, next);
  }

  /** Does not mind being told again with the first message. */
  private static final class HeadersOnce<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private boolean sent;

    HeadersOnce(ServerCall<Q, A> call) {
      super(call);
    }

    @Override
    public void sendHeaders(Metadata headers) {
      if (!sent) {
        sent = true;
        super.sendHeaders(headers);
      }
    }
  }
}
