package dev.sluice.server.http;

import dev.sluice.server.transport.ResponseMemoryBudget;
import io.undertow.io.IoCallback;
import io.undertow.io.Sender;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.ServerConnection;
import io.undertow.server.protocol.http.HttpServerConnection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.xnio.IoUtils;

/*
 * Undertow's idle timer keeps a connection for two minutes after it was closed from above, and with
 * the connection the buffer that was being sent. So a buffer is a small piece here, the body is
 * forgotten at the end of the exchange, and connections are closed from below, which stops the
 * timer. Small pieces also keep the JDK from copying the whole rest of a body for every write.
 */

/** Sends the body of an answer, and holds its memory until the client has taken it. */
final class ResponseBodyWriter implements IoCallback {
  private static final Logger LOG = LoggerFactory.getLogger(ResponseBodyWriter.class);
  private static final int PIECE_BYTES = 32 << 10;

  // Null once the exchange is over.
  private volatile byte @Nullable [] body;

  // Touched by one thread at a time.
  private int next;

  private ResponseBodyWriter(byte[] body) {
    this.body = body;
  }

  /** {@code room} is charged, unless it is null; it is closed with the exchange. */
  static void send(
      HttpServerExchange exchange, byte[] body, ResponseMemoryBudget.@Nullable Reservation room) {
    ResponseBodyWriter sending = new ResponseBodyWriter(body);
    exchange.setResponseContentLength(body.length);
    exchange.addExchangeCompleteListener(
        (done, then) -> {
          sending.body = null;
          then.proceed();
        });
    if (room != null) {
      room.hold(
          body.length,
          () -> {
            LOG.debug("a connection is closed because its response was not read");
            exchange.getIoThread().execute(() -> close(exchange.getConnection()));
          });
    }
    sending.more(exchange, exchange.getResponseSender());
  }

  private void more(HttpServerExchange exchange, Sender sender) {
    byte[] all = body;
    if (all == null || next == all.length) {
      exchange.endExchange();
      return;
    }
    int from = next;
    next = Math.min(all.length, from + PIECE_BYTES);
    sender.send(ByteBuffer.wrap(Arrays.copyOfRange(all, from, next)), this);
  }

  @Override
  public void onComplete(HttpServerExchange exchange, Sender sender) {
    more(exchange, sender);
  }

  @Override
  public void onException(HttpServerExchange exchange, Sender sender, IOException gone) {
    LOG.debug("a client has disconnected before its response", gone);
    try {
      exchange.endExchange();
    } finally {
      close(exchange.getConnection());
    }
  }

  private static void close(ServerConnection connection) {
    try {
      if (connection instanceof HttpServerConnection http) {
        http.getOriginalSinkConduit().truncateWrites();
        http.getOriginalSourceConduit().terminateReads();
      }
    } catch (IOException gone) {
      LOG.debug("the connection was already closed", gone);
    } finally {
      IoUtils.safeClose(connection);
    }
  }
}
