package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** What those ask for who run the server. */
final class HttpOperations implements HttpRoute.Group {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPENAPI = "/openapi.json";

  private final QueueApi queues;
  private final ServerMetrics metrics;
  private final Runnable readiness;

  /** {@code readiness} throws if the server cannot do its work. */
  HttpOperations(QueueApi queues, ServerMetrics metrics, Runnable readiness) {
    this.queues = queues;
    this.metrics = metrics;
    this.readiness = readiness;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.open("GET", "/healthz", request -> status("alive")),
        HttpRoute.open("GET", "/readyz", this::ready),
        HttpRoute.open("GET", OPENAPI, request -> openApi()),
        HttpRoute.of("GET", "/metrics", this::scrape));
  }

  private static HttpReply status(String word) {
    return HttpReply.now(HttpAnswer.ok(Map.of("status", word)));
  }

  private HttpReply ready(HttpRequest request) {
    readiness.run();
    return status("ready");
  }

  private static HttpReply openApi() {
    try (InputStream in = HttpOperations.class.getResourceAsStream(OPENAPI)) {
      if (in == null) {
        throw ApiException.notFound("there is no such path: " + OPENAPI);
      }
      return HttpReply.now(
          HttpAnswer.text(
              "application/json", new String(in.readAllBytes(), StandardCharsets.UTF_8)));
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** Names of queues are for those who may see them all. */
  private HttpReply scrape(HttpRequest request) {
    request.caller().requireAll(Kind.READ);
    return HttpReply.now(
        HttpAnswer.text(METRICS_TYPE, metrics.scrape(queues.list(Caller.ANYBODY))));
  }
}
