package dev.sluice.server.grpc;

import dev.sluice.server.support.TraceHeaders;
import dev.sluice.server.telemetry.Tracing;
import io.grpc.ForwardingServerCall;
import io.grpc.ForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Records a span for each call or stream, from its headers to its end. */
public final class TracingInterceptor implements ServerInterceptor {
  private static final AttributeKey<String> SYSTEM = AttributeKey.stringKey("rpc.system");
  private static final AttributeKey<String> SERVICE = AttributeKey.stringKey("rpc.service");
  private static final AttributeKey<String> METHOD = AttributeKey.stringKey("rpc.method");
  private static final AttributeKey<Long> STATUS = AttributeKey.longKey("rpc.grpc.status_code");

  /** The codes that are the server's fault. */
  private static final Set<Status.Code> ERRORS =
      EnumSet.of(
          Status.Code.UNKNOWN,
          Status.Code.DEADLINE_EXCEEDED,
          Status.Code.UNIMPLEMENTED,
          Status.Code.INTERNAL,
          Status.Code.UNAVAILABLE,
          Status.Code.DATA_LOSS);

  private static final TextMapGetter<Metadata> HEADERS =
      new TextMapGetter<>() {
        @Override
        public @Nullable String get(@Nullable Metadata headers, String name) {
          return headers == null
              ? null
              : TraceHeaders.bounded(
                  headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER)));
        }
      };

  private final Tracer tracer;
  private final ServerInterceptor next;

  private TracingInterceptor(Tracer tracer, ServerInterceptor next) {
    this.tracer = tracer;
    this.next = next;
  }

  /** Returns {@code next} with a span around it and all after it, if there are traces. */
  public static ServerInterceptor around(ServerInterceptor next, Tracing tracing) {
    Tracer tracer = tracing.tracer();
    return tracer == null ? next : new TracingInterceptor(tracer, next);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> handler) {
    Span span = start(call.getMethodDescriptor(), headers);
    try {
      return new Ending<>(next.interceptCall(new Watched<>(call, span), headers, handler), span);
    } catch (RuntimeException failure) {
      note(span, Status.UNKNOWN);
      span.end();
      throw failure;
    }
  }

  private Span start(MethodDescriptor<?, ?> method, Metadata headers) {
    Context parent =
        W3CTraceContextPropagator.getInstance().extract(Context.root(), headers, HEADERS);
    return tracer
        .spanBuilder(method.getFullMethodName())
        .setParent(parent)
        .setSpanKind(SpanKind.SERVER)
        .setAttribute(SYSTEM, "grpc")
        .setAttribute(SERVICE, Objects.requireNonNullElse(method.getServiceName(), ""))
        .setAttribute(METHOD, Objects.requireNonNullElse(method.getBareMethodName(), ""))
        .startSpan();
  }

  private static void note(Span span, Status status) {
    span.setAttribute(STATUS, (long) status.getCode().value());
    if (ERRORS.contains(status.getCode())) {
      String words = status.getDescription();
      span.setStatus(StatusCode.ERROR, words == null ? "" : words);
    }
  }

  /** Notes how the call is answered. */
  private static final class Watched<Q, A>
      extends ForwardingServerCall.SimpleForwardingServerCall<Q, A> {
    private final Span span;

    Watched(ServerCall<Q, A> call, Span span) {
      super(call);
      this.span = span;
    }

    @Override
    public void close(Status status, Metadata trailers) {
      note(span, status);
      super.close(status, trailers);
    }
  }

  /** Ends the span with the call. */
  private static final class Ending<Q>
      extends ForwardingServerCallListener.SimpleForwardingServerCallListener<Q> {
    private final Span span;

    Ending(ServerCall.Listener<Q> listener, Span span) {
      super(listener);
      this.span = span;
    }

    @Override
    public void onComplete() {
      span.end();
      super.onComplete();
    }

    @Override
    public void onCancel() {
      note(span, Status.CANCELLED);
      span.end();
      super.onCancel();
    }
  }
}
