package dev.sluice.server.http.routes;

import dev.sluice.broker.BrokerException;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.transport.Readiness;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Health, metrics and the OpenAPI document over HTTP. */
public final class MonitoringRoutes implements HttpRoute.RouteGroup {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPENAPI = "/openapi.json";
  private static final int OK = 200;

  private final QueueOperations queues;
  private final ServerMetrics metrics;
  private final Readiness readiness;
  private final HttpResponse openApi = readOpenApi();

  public MonitoringRoutes(QueueOperations queues, ServerMetrics metrics, Readiness readiness) {
    this.queues = queues;
    this.metrics = metrics;
    this.readiness = readiness;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.open("GET", "/healthz", this::alive),
        HttpRoute.open("GET", "/readyz", this::ready),
        HttpRoute.open("GET", OPENAPI, request -> HandlerResult.now(openApi)),
        HttpRoute.of("GET", "/metrics", this::scrape));
  }

  private HandlerResult alive(HttpRequest request) {
    readiness.requireAlive();
    return HandlerResult.now(HttpResponse.ok(Map.of("status", "alive")));
  }

  private HandlerResult ready(HttpRequest request) {
    readiness.require();
    List<String> degraded = readiness.degraded();
    return HandlerResult.now(
        HttpResponse.ok(
            degraded.isEmpty()
                ? Map.of("status", "ready")
                : Map.of("status", "ready", "degraded", degraded)));
  }

  /** Read once, because callers without a key may ask for it often and not read the answers. */
  private static HttpResponse readOpenApi() {
    try (InputStream in = MonitoringRoutes.class.getResourceAsStream(OPENAPI)) {
      byte[] text = Objects.requireNonNull(in, OPENAPI).readAllBytes();
      return new HttpResponse(OK, Map.of(), "application/json", text);
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** Names of queues are shown only to keys that may read all of them. */
  private HandlerResult scrape(HttpRequest request) {
    request.caller().requireAll(Kind.READ);
    return HandlerResult.now(HttpResponse.text(METRICS_TYPE, scrape()));
  }

  /**
   * Returns the metrics, also while the broker does not answer: with a full disk they are needed
   * most.
   */
  private String scrape() {
    try {
      return metrics.scrape(queues.list(Caller.ANYBODY));
    } catch (BrokerException waitingOrStopped) {
      return metrics.scrapeWithoutBroker();
    }
  }
}
