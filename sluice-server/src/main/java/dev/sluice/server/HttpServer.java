package dev.sluice.server;

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
final class HttpServer {
  private static final int METHOD_NOT_ALLOWED = 405;
  private static final int UNSUPPORTED = 415;

  private final ListenOptions listen;
  private final KeyWatches keys;
  private final HostRule hosts;
  private final List<HttpRoute> routes;
  private final HttpWaiting waiting = new HttpWaiting();
  private final ConnectionShares places;
  private final CallShares threads = new CallShares(HttpListener.threads());
  private final GracefulShutdownHandler drain;
  private final CountedRequests counted;
  private volatile @Nullable HttpListener listener;
  private volatile boolean closing;

  HttpServer(
      ListenOptions listen,
      KeyWatches keys,
      HostRule hosts,
      Tracing tracing,
      RequestMeters meters,
      List<? extends HttpRoute.Group> groups) {
    this.listen = listen;
    this.places = new ConnectionShares(ServerMemory.connections(listen.limits()));
    this.keys = keys;
    this.hosts = hosts;
    this.routes = groups.stream().flatMap(group -> group.routes().stream()).toList();
    this.drain = new GracefulShutdownHandler(tracing.around(this::route, routes));
    this.counted = new CountedRequests(meters, routes, this::take);
  }

  /**
   * Listens.
   *
   * @throws IOException if it cannot
   */
  void start() throws IOException {
    try {
      listener = HttpListener.open(listen, places, counted);
    } catch (IOException | RuntimeException failure) {
      throw BindAddress.cannotListen("HTTP", listen.address(), failure);
    }
  }

  List<HttpRoute> routes() {
    return routes;
  }

  /** Returns the port; {@link Listen#OFF} if the server does not listen for HTTP. */
  int port() {
    HttpListener now = listener;
    return now == null ? Listen.OFF : now.port();
  }

  long openConnections() {
    HttpListener now = listener;
    return now == null ? 0 : now.openConnections();
  }

  long openRequests() {
    HttpListener now = listener;
    return now == null ? 0 : now.openRequests();
  }

  private void take(HttpServerExchange exchange) throws Exception {
    if (closing) {
      exchange.setPersistent(false);
      HttpCall.send(exchange, HttpAnswer.refusal(Readiness.closing()));
    } else {
      drain.handleRequest(exchange);
    }
  }

  private void route(HttpServerExchange exchange) {
    String coding = exchange.getRequestHeaders().getFirst(Headers.TRANSFER_ENCODING);
    if (coding != null) {
      // Undertow takes a bad chunk for the last one, and what comes then for a request.
      exchange.setPersistent(false);
    }
    if (coding != null && !(coding.equalsIgnoreCase("chunked") && exchange.isHttp11())) {
      HttpCall.send(exchange, HttpAnswer.refusal(badCoding(coding)));
      return;
    }
    if (isEncoded(exchange)) {
      HttpCall.send(exchange, HttpAnswer.refusal(UNSUPPORTED, encoded()));
      return;
    }
    try {
      hosts.require(exchange.getRequestHeaders().get(Headers.HOST));
      requireOwnOrigin(exchange);
      requirePlainPath(exchange);
    } catch (ApiException refused) {
      HttpCall.send(exchange, HttpAnswer.refusal(refused));
      return;
    }
    String path = exchange.getRequestPath();
    String method = exchange.getRequestMethod().toString();
    List<String> allowed = new ArrayList<>();
    for (HttpRoute route : routes) {
      Optional<Map<String, String>> parameters = route.match(path);
      if (parameters.isPresent()) {
        if (route.method().equals(method)) {
          counted.found(exchange, route);
          begin(exchange, route, parameters.get());
          return;
        }
        allowed.add(route.method());
      }
    }
    HttpCall.send(exchange, allowed.isEmpty() ? unknown(path) : notAllowed(method, allowed));
  }

  private void begin(HttpServerExchange exchange, HttpRoute route, Map<String, String> parameters) {
    HttpCall.Shared shared = new HttpCall.Shared(keys, waiting, threads, places, listen);
    new HttpCall(exchange, route, parameters, shared).begin();
  }

  /** Nothing is unpacked: a kilobyte could become gigabytes. */
  private static boolean isEncoded(HttpServerExchange exchange) {
    HeaderValues codings = exchange.getRequestHeaders().get(Headers.CONTENT_ENCODING);
    return codings != null && codings.stream().anyMatch(each -> !each.equalsIgnoreCase("identity"));
  }

  private static ApiException encoded() {
    return ApiException.invalid("a body must not be compressed: Content-Encoding must be identity");
  }

  private static ApiException badCoding(String coding) {
    return ApiException.invalid("Transfer-Encoding must be chunked, in HTTP/1.1: " + coding);
  }

  /** Not a page of another site, in the browser of somebody who reaches this server. */
  private static void requireOwnOrigin(HttpServerExchange exchange) {
    String origin = exchange.getRequestHeaders().getFirst(Headers.ORIGIN);
    if (origin != null && !origin.endsWith("://" + exchange.getHostAndPort())) {
      throw new ApiException(
          ErrorKind.PERMISSION_DENIED,
          "pages of other sites must not call this server: Origin must be that of Host %s: %s"
              .formatted(exchange.getHostAndPort(), origin));
    }
  }

  /** Undertow cuts off what comes after a semicolon: the rest would name another key. */
  private static void requirePlainPath(HttpServerExchange exchange) {
    if (exchange.getRequestURI().indexOf(';') >= 0) {
      throw ApiException.invalid(
          "a path must have no semicolon, which is written %3B there: " + exchange.getRequestURI());
    }
  }

  private static HttpAnswer unknown(String path) {
    return HttpAnswer.refusal(ApiException.notFound("there is no such path: " + path));
  }

  private static HttpAnswer notAllowed(String method, List<String> allowed) {
    String all = allowed.stream().sorted().collect(Collectors.joining(", "));
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Allow", all);
    return HttpAnswer.refusal(
            METHOD_NOT_ALLOWED,
            ApiException.invalid("method must be one of %s: %s".formatted(all, method)))
        .with(headers);
  }

  /** Refuses calls from now on, and ends those that wait. */
  void stopAccepting() {
    closing = true;
    drain.shutdown();
    waiting.end();
  }

  /** Lets calls end that are being answered, for so long. */
  void close(Duration patience) {
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
