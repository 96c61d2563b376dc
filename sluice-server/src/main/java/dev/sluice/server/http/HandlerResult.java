package dev.sluice.server.http;

import dev.sluice.server.auth.WatchedCall;
import io.undertow.server.handlers.sse.ServerSentEventConnection;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;

/** The result of a handler: a response now, a response later, or a stream of events. */
public sealed interface HandlerResult {
  /**
   * An answer, once some work is done.
   *
   * @param work what has to be done first
   * @param toAnswer makes the answer of it
   * @param unsent gets the result if its answer was certainly not handed to the transport
   * @param waits whether the work may just wait, so that it ends when the client leaves or the
   *     server stops
   */
  record SingleResponse<T>(
      CompletableFuture<T> work,
      Function<? super T, HttpResponse> toAnswer,
      Consumer<? super T> unsent,
      boolean waits)
      implements HandlerResult {}

  /**
   * Events until the client leaves, or its key is revoked, is changed or expires.
   *
   * @param events sends them
   */
  record EventStream(HandlerResult.EventSender events) implements HandlerResult {}

  /** Sends events. */
  @FunctionalInterface
  interface EventSender {
    /**
     * Takes the connection.
     *
     * @param connection closed with {@code key}
     * @param key to be asked before something is sent
     */
    void begin(ServerSentEventConnection connection, WatchedCall key);
  }

  static HandlerResult now(HttpResponse answer) {
    return later(CompletableFuture.completedFuture(answer), same -> same);
  }

  static <T> HandlerResult later(
      CompletableFuture<T> work, Function<? super T, HttpResponse> toAnswer) {
    return new HandlerResult.SingleResponse<>(work, toAnswer, unsent -> {}, false);
  }

  static <T> HandlerResult waiting(
      CompletableFuture<T> work, Function<? super T, HttpResponse> toAnswer) {
    return waiting(work, toAnswer, unsent -> {});
  }

  static <T> HandlerResult waiting(
      CompletableFuture<T> work,
      Function<? super T, HttpResponse> toAnswer,
      Consumer<? super T> unsent) {
    return new HandlerResult.SingleResponse<>(work, toAnswer, unsent, true);
  }
}
