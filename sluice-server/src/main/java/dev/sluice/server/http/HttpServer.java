package dev.sluice.server.http;

import dev.sluice.server.ListenConfig;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.telemetry.RequestMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.BindAddress;
import dev.sluice.server.transport.ConnectionLimiter;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.GracefulShutdownHandler;
import io.undertow.util.HeaderValues;
import io.undertow.util.Headers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Answers HTTP: finds the route, and says so if there is none. */
public final class HttpServer {
  private static final int METHOD_NOT_ALLOWED = 405;
  private static final int UNSUPPORTED = 415;

  private final ProtocolListenerConfig listen;
  private final RevocationWatcher keys;
  private final HostHeaderPolicy hosts;
  private final List<HttpRoute> routes;
  private final WaitingCalls waiting = new WaitingCalls();
  private final ConnectionLimiter places;
  private final AccountExecutors threads = new AccountExecutors(HttpListener.threads());
  private final GracefulShutdownHandler drain;
  private final HttpMetricsHandler counted;
  private volatile @Nullable HttpListener listener;
  private volatile boolean closing;

  public HttpServer(
      ProtocolListenerConfig listen,
      RevocationWatcher keys,
      HostHeaderPolicy hosts,
      Tracing tracing,
      RequestMetrics meters,
      List<? extends HttpRoute.RouteGroup> groups) {
    this.listen = listen;
    this.places = new ConnectionLimiter(MemoryBudgets.connections(listen.limits()));
    this.keys = keys;
    this.hosts = hosts;
    this.routes = groups.stream().flatMap(group -> group.routes().stream()).toList();
    this.drain = new GracefulShutdownHandler(TracingHandler.around(this::route, routes, tracing));
    this.counted = new HttpMetricsHandler(meters, routes, this::take);
  }

  /**
   * Listens.
   *
   * @throws IOException if it cannot
   */
  public void start() throws IOException {
    try {
      listener = HttpListener.open(listen, places, counted);
    } catch (IOException | RuntimeException failure) {
      throw BindAddress.cannotListen("HTTP", listen.address(), failure);
    }
  }

  public List<HttpRoute> routes() {
    return routes;
  }

  /** Returns the port; {@link ListenConfig#OFF} if the server does not listen for HTTP. */
  public int port() {
    HttpListener now = listener;
    return now == null ? ListenConfig.OFF : now.port();
  }

  public long openConnections() {
    HttpListener now = listener;
    return now == null ? 0 : now.openConnections();
  }

  public long openRequests() {
    HttpListener now = listener;
    return now == null ? 0 : now.openRequests();
  }

  private void take(HttpServerExchange exchange) throws Exception {
    if (closing) {
      exchange.setPersistent(false);
      HttpExchangeHandler.send(exchange, HttpResponse.refusal(Readiness.closing()));
    } else {
      drain.handleRequest(exchange);
    }
  }

  private void route(HttpServerExchange exchange) {
    String coding = exchange.getRequestHeaders().getFirst(Headers.TRANSFER_ENCODING);
    if (coding != null) {
      // Undertow takes a bad chunk for the last one, and the bytes after it for a request.
      exchange.setPersistent(false);
    }
    if (coding != null && !(coding.equalsIgnoreCase("chunked") && exchange.isHttp11())) {
      HttpExchangeHandler.send(exchange, HttpResponse.refusal(badCoding(coding)));
      return;
    }
    if (isEncoded(exchange)) {
      HttpExchangeHandler.send(exchange, HttpResponse.refusal(UNSUPPORTED, encoded()));
      return;
    }
    try {
      hosts.require(exchange.getRequestHeaders().get(Headers.HOST));
      requireOwnOrigin(exchange);
      requirePlainPath(exchange);
    } catch (ApiException refused) {
      HttpExchangeHandler.send(exchange, HttpResponse.refusal(refused));
      return;
    }
    String path = exchange.getRequestPath();
    String method = exchange.getRequestMethod().toString();
    List<String> segments = HttpRoute.segments(path);
    List<String> allowed = new ArrayList<>();
    for (HttpRoute route : routes) {
      Optional<Map<String, String>> parameters = route.match(segments);
      if (parameters.isPresent()) {
        if (route.method().equals(method)) {
          counted.found(exchange, route);
          begin(exchange, route, parameters.get());
          return;
        }
        allowed.add(route.method());
      }
    }
    HttpExchangeHandler.send(
        exchange, allowed.isEmpty() ? unknown(path) : notAllowed(method, allowed));
  }

  private void begin(HttpServerExchange exchange, HttpRoute route, Map<String, String> parameters) {
    HttpExchangeHandler.HttpContext shared =
        new HttpExchangeHandler.HttpContext(keys, waiting, threads, places, listen);
    new HttpExchangeHandler(exchange, route, parameters, shared).begin();
  }

  /**
   * Returns whether the body is compressed. Such bodies are refused, because a kilobyte could
   * become gigabytes.
   */
  private static boolean isEncoded(HttpServerExchange exchange) {
    HeaderValues codings = exchange.getRequestHeaders().get(Headers.CONTENT_ENCODING);
    return codings != null && codings.stream().anyMatch(each -> !each.equalsIgnoreCase("identity"));
  }

  private static ApiException encoded() {
    return ApiException.invalid("a body must not be compressed: Content-Encoding must be identity");
  }

  private static ApiException badCoding(String coding) {
    return ApiException.invalid(
        "Transfer-Encoding must be chunked, in HTTP/1.1, but was " + coding);
  }

  /** Refuses requests of pages of other sites, sent by a browser that can reach this server. */
  private static void requireOwnOrigin(HttpServerExchange exchange) {
    String origin = exchange.getRequestHeaders().getFirst(Headers.ORIGIN);
    if (origin != null && !origin.endsWith("://" + exchange.getHostAndPort())) {
      throw new ApiException(
          ErrorKind.PERMISSION_DENIED,
          "pages of other sites must not call this server: Origin must be that of Host %s, but was %s"
              .formatted(exchange.getHostAndPort(), origin));
    }
  }

  /** Undertow cuts off the path at a semicolon: the rest would name another key. */
  private static void requirePlainPath(HttpServerExchange exchange) {
    if (exchange.getRequestURI().indexOf(';') >= 0) {
      throw ApiException.invalid(
          "a path must have no semicolon, which is written %3B there, but was "
              + exchange.getRequestURI());
    }
  }

  private static HttpResponse unknown(String path) {
    return HttpResponse.refusal(ApiException.notFound("unknown path: " + path));
  }

  private static HttpResponse notAllowed(String method, List<String> allowed) {
    String all = allowed.stream().sorted().collect(Collectors.joining(", "));
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Allow", all);
    return HttpResponse.refusal(
            METHOD_NOT_ALLOWED,
            ApiException.invalid("method must be one of %s, but was %s".formatted(all, method)))
        .with(headers);
  }

  /** Refuses calls from now on, and ends those that wait. */
  public void stopAccepting() {
    closing = true;
    drain.shutdown();
    waiting.end();
  }

  /** Lets calls end that are being answered, for so long. */
  public void close(Duration patience) {
    HttpListener open = listener;
    if (open == null) {
      return;
    }
    stopAccepting();
    try {
      drain.awaitShutdown(Math.max(1, patience.toMillis()));
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    }
    open.close();
  }
}
