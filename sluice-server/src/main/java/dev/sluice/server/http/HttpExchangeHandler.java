package dev.sluice.server.http;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.ConnectionLimiter;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import dev.sluice.server.transport.RequestMemoryBudget;
import dev.sluice.server.transport.RequestTurns;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.sse.ServerSentEventConnection;
import io.undertow.server.handlers.sse.ServerSentEventHandler;
import io.undertow.util.AttachmentKey;
import io.undertow.util.HeaderMap;
import io.undertow.util.Headers;
import io.undertow.util.HttpString;
import io.undertow.util.SameThreadExecutor;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.xnio.IoUtils;

/**
 * One request on its way: the caller is found out and checked on a worker, the body is read without
 * holding a thread, the route's handler runs on a worker, and the answer is sent when it is there.
 */
final class HttpExchangeHandler {
  private static final int TOO_LARGE = 413;

  /** The longest header names and values that are kept for the next request. */
  private static final int MAX_KEPT = 64;

  /** The memory of the answer; absent on open routes, whose answers are kept in memory anyway. */
  private static final AttachmentKey<ResponseMemoryBudget.Reservation> ROOM =
      AttachmentKey.create(ResponseMemoryBudget.Reservation.class);

  private final HttpServerExchange exchange;
  private final HttpRoute route;
  private final Map<String, String> encoded;
  private final HttpExchangeHandler.HttpContext shared;

  /** The parts that all calls share. */
  record HttpContext(
      RevocationWatcher keys,
      WaitingCalls waiting,
      AccountExecutors threads,
      ConnectionLimiter places,
      ProtocolListenerConfig listen) {}

  HttpExchangeHandler(
      HttpServerExchange exchange,
      HttpRoute route,
      Map<String, String> encoded,
      HttpExchangeHandler.HttpContext shared) {
    this.exchange = exchange;
    this.route = route;
    this.encoded = encoded;
    this.shared = shared;
  }

  void begin() {
    exchange.dispatch(this::read);
  }

  private void read(HttpServerExchange same) {
    Credential key;
    try {
      key = authenticate();
      if (!route.open()) {
        shared.places().show(client(), key.caller().account());
      }
      route.admit(key.caller(), this::decoded);
    } catch (RuntimeException refused) {
      send(exchange, HttpResponse.refusal(ApiException.of(refused)));
      return;
    }
    ResponseMemoryBudget.Reservation answer = shared.listen().memory().answers().part(key.owner());
    whenOver(answer::close);
    if (!route.open()) {
      exchange.putAttachment(ROOM, answer);
    }
    Memory memory = memory(key);
    Body body = new Body(key, answer, memory);
    if (!route.takesBody()) {
      body.received(new byte[0]);
    } else {
      whenOver(memory::over);
      RequestBodyReader.read(exchange, memory.body, shared.listen().pace(), body);
    }
  }

  /** The memory that a request holds, and its turn until its answer is made. */
  private static final class Memory {
    final RequestMemoryBudget.Reservation body;
    final RequestMemoryBudget.Reservation work;
    final RequestTurns.Turn turn;

    /**
     * The body until the request is handled. Undertow keeps the task of a request that is over
     * until a thread is free; what is not counted must not be reachable from there.
     */
    private volatile byte @Nullable [] received;

    Memory(
        RequestMemoryBudget.Reservation body,
        RequestMemoryBudget.Reservation work,
        RequestTurns.Turn turn) {
      this.body = body;
      this.work = work;
      this.turn = turn;
    }

    /** Keeps the body, which makes room for others until the request is handled. */
    void keep(byte[] bytes) {
      received = bytes;
      body.evictBy(
          () -> {
            received = null;
            turn.abandon();
          });
    }

    /** Returns the body, which is not evicted from now on; null if it was, or if it is over. */
    byte @Nullable [] take() {
      byte[] bytes = body.complete() ? received : null;
      received = null;
      return bytes;
    }

    void give() {
      body.close();
      work.close();
    }

    void close() {
      give();
      turn.end();
    }

    /** The request is over; Undertow does not handle it any more if it waits for its turn. */
    void over() {
      received = null;
      give();
      turn.close();
    }
  }

  private Memory memory(Credential key) {
    MemoryBudgets all = shared.listen().memory();
    Object connection = exchange.getConnection();
    return new Memory(
        all.inbound().part(connection, key.account()),
        all.work().part(connection, key.account()),
        shared.threads().requests().of(key.owner()));
  }

  private SocketAddress client() {
    return exchange.getConnection().getPeerAddress();
  }

  private Credential authenticate() {
    Object connection = exchange.getConnection();
    return route.open()
        ? new Credential(shared.keys(), null, Caller.ANYBODY, connection)
        : shared
            .keys()
            .authenticate(exchange.getRequestHeaders().getFirst(Headers.AUTHORIZATION), connection);
  }

  /** Receives the body or the failure to read it. */
  private final class Body implements RequestBodyReader.Receiver {
    private final Credential key;
    private final ResponseMemoryBudget.Reservation answer;
    private final Memory memory;

    Body(Credential key, ResponseMemoryBudget.Reservation answer, Memory memory) {
      this.key = key;
      this.answer = answer;
      this.memory = memory;
    }

    /**
     * Parsing a body and making an answer may take long: each account has its share of
     * shared.threads(), and its large bodies take turns.
     */
    @Override
    public void received(byte[] body) {
      Executor threads =
          shared.threads().of(key.owner(), exchange.getConnection().getWorker(), route.lists());
      memory.keep(body);
      int size = body.length;
      exchange.dispatch(
          task -> TurnWait.begin(exchange, memory.turn, key, size, () -> threads.execute(task)),
          same -> handle());
    }

    private void handle() {
      byte[] body = memory.take();
      if (body == null) {
        memory.close();
        noRoom();
      } else {
        HttpExchangeHandler.this.handle(key, body, answer, memory);
      }
    }

    @Override
    public void tooLarge(long limit) {
      ApiException refused =
          ApiException.invalid("body must have at most %d bytes".formatted(limit));
      send(exchange, HttpResponse.refusal(TOO_LARGE, refused));
    }

    @Override
    public void noRoom() {
      exchange.setPersistent(false);
      send(exchange, HttpResponse.refusal(ResponseMemoryBudget.exhausted("this body")));
    }

    @Override
    public void broken(IOException why) {
      IoUtils.safeClose(exchange.getConnection());
    }
  }

  /** Holds {@code memory} until the answer is known, because the operation may keep the body. */
  private void handle(
      Credential key, byte[] body, ResponseMemoryBudget.Reservation answer, Memory memory) {
    HandlerResult reply;
    try {
      if (!route.open()) {
        // The body, or the turn of the account, may come long after the headers.
        key.requireSame();
      }
      reply =
          route
              .handler()
              .handle(
                  new HttpRequest(
                      key,
                      decoded(),
                      route.read(exchange.getQueryParameters()),
                      this::header,
                      body,
                      answer,
                      memory.work,
                      memory::close,
                      this::whenOver));
    } catch (RuntimeException refused) {
      memory.close();
      send(exchange, HttpResponse.refusal(ApiException.of(refused)));
      return;
    }
    if (reply instanceof HandlerResult.EventStream events) {
      memory.close();
      stream(events, key);
    } else if (reply instanceof HandlerResult.SingleResponse<?> single) {
      Futures.whenOver(single.work(), memory::give);
      Executor threads = exchange.getConnection().getWorker();
      answer(single, shared.threads().forAnswers(key.owner(), threads), memory.turn);
    }
  }

  private void whenOver(Runnable then) {
    exchange.addExchangeCompleteListener(
        (done, next) -> {
          then.run();
          next.proceed();
        });
  }

  private Map<String, String> decoded() {
    Map<String, String> all = new LinkedHashMap<>();
    encoded.forEach((name, value) -> all.put(name, HttpRoute.decode(value)));
    return all;
  }

  private Optional<String> header(String name) {
    return Optional.ofNullable(exchange.getRequestHeaders().get(name))
        .map(fields -> String.join(", ", fields));
  }

  private <T> void answer(
      HandlerResult.SingleResponse<T> reply, Executor threads, RequestTurns.Turn turn) {
    if (reply.work().isDone()) {
      Futures.when(
          reply.work(),
          value -> send(ready(reply, value)),
          failure -> send(exchange, refusal(failure)));
      turn.end();
    } else {
      exchange.dispatch(SameThreadExecutor.INSTANCE, () -> await(reply, threads, turn));
    }
  }

  /** Everything about the connection happens on its own thread from here on. */
  private <T> void await(
      HandlerResult.SingleResponse<T> reply, Executor threads, RequestTurns.Turn turn) {
    CompletableFuture<T> work = reply.work();
    Runnable end = () -> work.cancel(false);
    if (reply.waits()) {
      shared.waiting().add(end);
      DisconnectWatch.watch(exchange, work);
    }
    Consumer<HttpExchangeHandler.PendingResponse> send =
        ready -> {
          shared.waiting().remove(end);
          turn.end();
          exchange.getIoThread().execute(() -> send(ready));
        };
    Futures.when(
        work,
        value -> Futures.make(value, threads, () -> send.accept(ready(reply, value))),
        failure -> send.accept(new HttpExchangeHandler.PendingResponse(refusal(failure))));
  }

  /**
   * An answer that is ready to be sent.
   *
   * @param unsent runs if it is not handed to the transport
   */
  private record PendingResponse(HttpResponse answer, Runnable unsent) {
    PendingResponse(HttpResponse answer) {
      this(answer, () -> {});
    }
  }

  private static <T> HttpExchangeHandler.PendingResponse ready(
      HandlerResult.SingleResponse<T> reply, T value) {
    try {
      return new HttpExchangeHandler.PendingResponse(
          reply.toAnswer().apply(value), () -> reply.unsent().accept(value));
    } catch (RuntimeException | Error failure) {
      reply.unsent().accept(value);
      return new HttpExchangeHandler.PendingResponse(refusal(failure));
    }
  }

  private void send(HttpExchangeHandler.PendingResponse ready) {
    if (!send(exchange, ready.answer())) {
      ready.unsent().run();
    }
  }

  private static HttpResponse refusal(Throwable failure) {
    return HttpResponse.refusal(
        failure instanceof CancellationException ? Readiness.closing() : ApiException.of(failure));
  }

  private void stream(HandlerResult.EventStream reply, Credential key) {
    ServerSentEventHandler handler =
        new ServerSentEventHandler(
            (connection, lastEventId) -> {
              Runnable end = () -> IoUtils.safeClose(connection);
              shared.waiting().add(end);
              WatchedCall watch = key.unstarted(why -> IoUtils.safeClose(connection));
              connection.addCloseTask(
                  (ServerSentEventConnection closed) -> {
                    shared.waiting().remove(end);
                    watch.close();
                  });
              reply.events().begin(connection, watch);
              // Not before: the callback for the close of the connection must be set.
              watch.start();
            });
    HttpMetricsHandler.streams(exchange);
    put(exchange, HttpResponse.GUARDS);
    try {
      handler.handleRequest(exchange);
    } catch (Exception failure) {
      send(exchange, HttpResponse.refusal(ApiException.of(failure)));
    }
  }

  /** Returns false if the answer was not handed to the transport. */
  static boolean send(HttpServerExchange exchange, HttpResponse answer) {
    if (!exchange.getConnection().isOpen() || exchange.isResponseStarted()) {
      exchange.endExchange();
      return false;
    }
    RequestBodyReader.giveUp(exchange);
    forgetRequest(exchange);
    exchange.setStatusCode(answer.status());
    put(exchange, HttpResponse.GUARDS);
    put(exchange, answer.headers());
    if (answer.body().length == 0) {
      exchange.endExchange();
      return true;
    }
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, answer.type());
    ResponseBodyWriter.send(exchange, answer.body(), exchange.getAttachment(ROOM));
    return true;
  }

  /**
   * Drops the texts of an answered request, which may be large: the exchange lasts until the client
   * has read the answer. Undertow needs headers on the way to its end, but no long ones.
   */
  private static void forgetRequest(HttpServerExchange exchange) {
    exchange.getQueryParameters().clear();
    exchange.getPathParameters().clear();
    exchange.setQueryString("");
    exchange.setRequestURI("");
    exchange.setRequestPath("");
    exchange.setRelativePath("");
    HeaderMap headers = exchange.getRequestHeaders();
    for (HttpString name : List.copyOf(headers.getHeaderNames())) {
      if (name.length() > MAX_KEPT
          || headers.get(name).stream().mapToInt(String::length).sum() > MAX_KEPT) {
        headers.remove(name);
      }
    }
  }

  private static void put(HttpServerExchange exchange, Map<String, String> headers) {
    headers.forEach(
        (name, value) -> exchange.getResponseHeaders().put(new HttpString(name), value));
  }
}
