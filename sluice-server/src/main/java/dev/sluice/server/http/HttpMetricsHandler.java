package dev.sluice.server.http;

import dev.sluice.server.telemetry.RequestMetrics;
import dev.sluice.server.telemetry.RequestMetrics.Method;
import dev.sluice.server.telemetry.RequestMetrics.Protocol;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.AttachmentKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Counts the requests of HTTP at their end, those that are refused and those for nothing too. */
final class HttpMetricsHandler implements HttpHandler {
  private static final AttachmentKey<Counted> COUNTED = AttachmentKey.create(Counted.class);

  private final HttpHandler next;
  private final Method other;
  private final Map<HttpRoute, Method> methods = new HashMap<>();

  HttpMetricsHandler(RequestMetrics meters, List<HttpRoute> routes, HttpHandler next) {
    this.next = next;
    this.other = meters.method(Protocol.HTTP, RequestMetrics.OTHER);
    for (HttpRoute each : routes) {
      methods.put(each, meters.method(Protocol.HTTP, each.method() + " " + each.template()));
    }
  }

  /** A counted request. Its steps happen one after the other, on any thread. */
  private static final class Counted {
    private final long from = System.nanoTime();
    private Method method;
    private boolean streams;

    Counted(Method method) {
      this.method = method;
    }

    void end(int status) {
      String code = Integer.toString(status);
      if (streams) {
        method.streamEnded(code, true);
      } else {
        method.answered(code, System.nanoTime() - from);
      }
    }
  }

  @Override
  public void handleRequest(HttpServerExchange exchange) throws Exception {
    Counted counted = new Counted(other);
    exchange.putAttachment(COUNTED, counted);
    exchange.addExchangeCompleteListener(
        (done, others) -> {
          counted.end(done.getStatusCode());
          others.proceed();
        });
    next.handleRequest(exchange);
  }

  /** The request is one for {@code route}. */
  void found(HttpServerExchange exchange, HttpRoute route) {
    Counted counted = exchange.getAttachment(COUNTED);
    counted.method = methods.getOrDefault(route, other);
  }

  /** The request is answered until the client leaves. */
  static void streams(HttpServerExchange exchange) {
    Counted counted = exchange.getAttachment(COUNTED);
    counted.streams = true;
    counted.method.streamBegan();
  }
}
