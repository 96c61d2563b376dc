package dev.sluice.server.http;

import dev.sluice.server.support.TraceHeaders;
import dev.sluice.server.telemetry.Tracing;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.HeaderMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Records a span for each request, from its headers to the last byte of its response. */
final class TracingHandler implements HttpHandler {
  private static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
  private static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
  private static final AttributeKey<Long> STATUS =
      AttributeKey.longKey("http.response.status_code");
  private static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");
  private static final AttributeKey<String> PATH = AttributeKey.stringKey("url.path");
  private static final AttributeKey<String> SCHEME = AttributeKey.stringKey("url.scheme");

  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH");

  private static final int SERVER_ERRORS = 500;

  private static final TextMapGetter<HeaderMap> HEADERS =
      new TextMapGetter<>() {
        @Override
        public @Nullable String get(@Nullable HeaderMap headers, String name) {
          return headers == null ? null : TraceHeaders.bounded(headers.getFirst(name));
        }
      };

  private final Tracer tracer;
  private final HttpHandler next;
  private final List<HttpRoute> routes;

  private TracingHandler(Tracer tracer, HttpHandler next, List<HttpRoute> routes) {
    this.tracer = tracer;
    this.next = next;
    this.routes = routes;
  }

  /** Returns {@code next} with a span around each request, if there are traces. */
  static HttpHandler around(HttpHandler next, List<HttpRoute> routes, Tracing tracing) {
    Tracer tracer = tracing.tracer();
    return tracer == null ? next : new TracingHandler(tracer, next, routes);
  }

  @Override
  public void handleRequest(HttpServerExchange exchange) throws Exception {
    Span span = start(exchange);
    exchange.addExchangeCompleteListener(
        (done, others) -> {
          end(span, done.getStatusCode());
          others.proceed();
        });
    next.handleRequest(exchange);
  }

  private Span start(HttpServerExchange exchange) {
    String given = exchange.getRequestMethod().toString();
    String path = exchange.getRequestPath();
    Optional<String> route = route(given, path);
    boolean known = METHODS.contains(given);
    String name = known ? given : "HTTP";
    SpanBuilder span =
        tracer
            .spanBuilder(route.map(template -> name + " " + template).orElse(name))
            .setParent(
                W3CTraceContextPropagator.getInstance()
                    .extract(Context.root(), exchange.getRequestHeaders(), HEADERS))
            .setSpanKind(SpanKind.SERVER)
            .setAttribute(METHOD, known ? given : "_OTHER")
            .setAttribute(PATH, path)
            .setAttribute(SCHEME, exchange.getRequestScheme());
    route.ifPresent(template -> span.setAttribute(ROUTE, template));
    return span.startSpan();
  }

  private Optional<String> route(String method, String path) {
    List<String> segments = HttpRoute.segments(path);
    return routes.stream()
        .filter(each -> each.method().equals(method) && each.match(segments).isPresent())
        .map(HttpRoute::template)
        .findFirst();
  }

  private static void end(Span span, int status) {
    span.setAttribute(STATUS, (long) status);
    if (status >= SERVER_ERRORS) {
      span.setStatus(StatusCode.ERROR);
      span.setAttribute(ERROR, Integer.toString(status));
    }
    span.end();
  }
}
