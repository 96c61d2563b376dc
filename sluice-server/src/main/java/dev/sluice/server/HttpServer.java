package dev.sluice.server;

import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.GracefulShutdownHandler;
import io.undertow.util.Headers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Answers HTTP: finds the route, and says so if there is none. */
final class HttpServer implements AutoCloseable {
  /** A message of 16 MiB in base64, and room for what is around it. */
  static final long MAX_BODY = 24L << 20;

  static final int MAX_HEADER = 32 << 10;
  private static final int MAX_HEADERS = 100;
  private static final int MAX_PARAMETERS = 100;
  private static final int PARSE_TIMEOUT_MS = 10_000;

  /** Longer than a call may wait. */
  private static final int IDLE_TIMEOUT_MS = 120_000;

  private static final int IO_THREADS = 2;
  private static final int METHOD_NOT_ALLOWED = 405;
  private static final long DRAIN_MS = 10_000;

  private final InetSocketAddress address;
  private final Access.Authenticator authenticator;
  private final List<HttpRoute> routes;
  private final HttpWaiting waiting = new HttpWaiting();
  private final GracefulShutdownHandler drain;
  private final Undertow undertow;
  private volatile boolean started;

  HttpServer(
      InetSocketAddress address,
      Access.Authenticator authenticator,
      Tracing tracing,
      List<? extends HttpRoute.Group> groups) {
    this.address = address;
    this.authenticator = authenticator;
    this.routes = groups.stream().flatMap(group -> group.routes().stream()).toList();
    this.drain = new GracefulShutdownHandler(tracing.around(this::route, routes));
    this.undertow =
        Undertow.builder()
            .addHttpListener(address.getPort(), address.getHostString())
            .setIoThreads(IO_THREADS)
            .setWorkerThreads(2 * Runtime.getRuntime().availableProcessors() + 2)
            .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, MAX_BODY)
            .setServerOption(UndertowOptions.MAX_HEADER_SIZE, MAX_HEADER)
            .setServerOption(UndertowOptions.MAX_HEADERS, MAX_HEADERS)
            .setServerOption(UndertowOptions.MAX_PARAMETERS, MAX_PARAMETERS)
            .setServerOption(UndertowOptions.REQUEST_PARSE_TIMEOUT, PARSE_TIMEOUT_MS)
            .setServerOption(UndertowOptions.IDLE_TIMEOUT, IDLE_TIMEOUT_MS)
            .setServerOption(UndertowOptions.DECODE_URL, false)
            .setHandler(drain)
            .build();
  }

  /**
   * Listens.
   *
   * @throws IOException if it cannot
   */
  void start() throws IOException {
    try {
      undertow.start();
      started = true;
    } catch (RuntimeException failure) {
      throw new IOException("cannot listen for HTTP on " + address, failure);
    }
  }

  List<HttpRoute> routes() {
    return routes;
  }

  int port() {
    return ((InetSocketAddress) undertow.getListenerInfo().get(0).getAddress()).getPort();
  }

  private void route(HttpServerExchange exchange) {
    String origin = exchange.getRequestHeaders().getFirst(Headers.ORIGIN);
    if (origin != null && !origin.endsWith("://" + exchange.getHostAndPort())) {
      // A page of another site, in the browser of somebody who reaches this server.
      HttpCall.send(exchange, HttpAnswer.refusal(Caller.denied("a call from " + origin)));
      return;
    }
    String path = exchange.getRequestPath();
    String method = exchange.getRequestMethod().toString();
    List<String> allowed = new ArrayList<>();
    for (HttpRoute route : routes) {
      Optional<Map<String, String>> parameters = route.match(path);
      if (parameters.isPresent()) {
        if (route.method().equals(method)) {
          new HttpCall(exchange, route, parameters.get(), authenticator, waiting).begin();
          return;
        }
        allowed.add(route.method());
      }
    }
    HttpCall.send(exchange, allowed.isEmpty() ? unknown(path) : notAllowed(method, allowed));
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

  /** Lets calls end that are being answered, and ends those that wait. */
  @Override
  public void close() {
    if (!started) {
      return;
    }
    drain.shutdown();
    waiting.end();
    try {
      drain.awaitShutdown(DRAIN_MS);
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    }
    undertow.stop();
  }
}
