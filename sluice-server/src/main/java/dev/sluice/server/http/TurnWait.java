package dev.sluice.server.http;

import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.RequestTurns;
import io.undertow.server.HttpServerExchange;
import java.util.concurrent.CompletableFuture;

/*
 * The client's connection is read while the request waits, see DisconnectWatch. The request goes on
 * by way of the connection's own thread, so that it does not meet that reading.
 */

/**
 * Lets a request wait for its {@linkplain RequestTurns turn} without a thread. The wait also ends
 * when the key ends, so that the request can be refused, and when the client leaves: that closes
 * the turn, because it ends the exchange.
 */
final class TurnWait {
  private TurnWait() {}

  /** Calls {@code next}, which must not block, at once or when the wait is over. */
  static void begin(
      HttpServerExchange exchange,
      RequestTurns.Turn turn,
      Credential key,
      long bytes,
      Runnable next) {
    CompletableFuture<Boolean> wait = new CompletableFuture<>();
    if (turn.begin(bytes, () -> wait.complete(true))) {
      next.run();
      return;
    }
    WatchedCall watch = key.unstarted(why -> turn.abandon());
    Futures.whenOver(
        wait,
        () -> {
          watch.close();
          exchange.getIoThread().execute(next);
        });
    watch.start();
    DisconnectWatch.watch(exchange, wait);
  }
}
