package dev.sluice.server;

import io.undertow.server.handlers.sse.ServerSentEventConnection;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;

/** What a handler has begun. */
sealed interface HttpReply {
  /**
   * An answer, once some work is done.
   *
   * @param work what has to be done first
   * @param toAnswer makes the answer of it
   * @param unsent gets the result if its answer was certainly not handed to the transport
   * @param waits whether the work may just wait, so that it ends when the client leaves or the
   *     server stops
   */
  record Single<T>(
      CompletableFuture<T> work,
      Function<? super T, HttpAnswer> toAnswer,
      Consumer<? super T> unsent,
      boolean waits)
      implements HttpReply {}

  /**
   * Events until the client leaves, or its key is revoked, is changed or expires.
   *
   * @param events sends them
   */
  record Events(Sender events) implements HttpReply {}

  /** Sends events. */
  @FunctionalInterface
  interface Sender {
    /**
     * Takes the connection.
     *
     * @param connection closed with {@code key}
     * @param key to be asked before something is sent
     */
    void begin(ServerSentEventConnection connection, KeyWatch key);
  }

  static HttpReply now(HttpAnswer answer) {
    return later(CompletableFuture.completedFuture(answer), same -> same);
  }

  static <T> HttpReply later(CompletableFuture<T> work, Function<? super T, HttpAnswer> toAnswer) {
    return new Single<>(work, toAnswer, unsent -> {}, false);
  }

  static <T> HttpReply waiting(
      CompletableFuture<T> work, Function<? super T, HttpAnswer> toAnswer) {
    return waiting(work, toAnswer, unsent -> {});
  }

  static <T> HttpReply waiting(
      CompletableFuture<T> work,
      Function<? super T, HttpAnswer> toAnswer,
      Consumer<? super T> unsent) {
    return new Single<>(work, toAnswer, unsent, true);
  }
}
