package dev.sluice.server;

import dev.sluice.broker.BrokerException;
import dev.sluice.server.Permission.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** What those ask for who run the server. */
final class HttpOperations implements HttpRoute.Group {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPENAPI = "/openapi.json";
  private static final int OK = 200;

  private final QueueApi queues;
  private final ServerMetrics metrics;
  private final Readiness readiness;
  private final HttpAnswer openApi = readOpenApi();

  HttpOperations(QueueApi queues, ServerMetrics metrics, Readiness readiness) {
    this.queues = queues;
    this.metrics = metrics;
    this.readiness = readiness;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.open("GET", "/healthz", this::alive),
        HttpRoute.open("GET", "/readyz", this::ready),
        HttpRoute.open("GET", OPENAPI, request -> HttpReply.now(openApi)),
        HttpRoute.of("GET", "/metrics", this::scrape));
  }

  private HttpReply alive(HttpRequest request) {
    readiness.requireAlive();
    return HttpReply.now(HttpAnswer.ok(Map.of("status", "alive")));
  }

  private HttpReply ready(HttpRequest request) {
    readiness.require();
    List<String> degraded = readiness.degraded();
    return HttpReply.now(
        HttpAnswer.ok(
            degraded.isEmpty()
                ? Map.of("status", "ready")
                : Map.of("status", "ready", "degraded", degraded)));
  }

  /** Read once, because callers without a key may ask for it often and not read the answers. */
  private static HttpAnswer readOpenApi() {
    try (InputStream in = HttpOperations.class.getResourceAsStream(OPENAPI)) {
      byte[] text = Objects.requireNonNull(in, OPENAPI).readAllBytes();
      return new HttpAnswer(OK, Map.of(), "application/json", text);
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** Names of queues are for those who may see them all. */
  private HttpReply scrape(HttpRequest request) {
    request.caller().requireAll(Kind.READ);
    return HttpReply.now(HttpAnswer.text(METRICS_TYPE, scrape()));
  }

  /** When the disk is full its metrics are needed most. */
  private String scrape() {
    try {
      return metrics.scrape(queues.list(Caller.ANYBODY));
    } catch (BrokerException waitingOrStopped) {
      return metrics.scrapeWithoutBroker();
    }
  }
}
