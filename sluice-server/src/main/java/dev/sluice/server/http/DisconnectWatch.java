package dev.sluice.server.http;

import io.undertow.connector.PooledByteBuffer;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.protocol.http.HttpServerConnection;
import java.io.IOException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.xnio.IoUtils;

/*
 * While a request is being answered Undertow does not read from its connection, and so does not
 * notice that the client has closed it. This reads now and then, on the connection's own thread, on
 * which the answer is sent too; what a client sends ahead is kept for the next request.
 */

/** Notices that a client has left while its call waits. */
final class DisconnectWatch {
  private static final long EVERY_MS = 250;

  private final HttpServerExchange exchange;
  private final HttpServerConnection connection;
  private final Future<?> work;

  private DisconnectWatch(
      HttpServerExchange exchange, HttpServerConnection connection, Future<?> work) {
    this.exchange = exchange;
    this.connection = connection;
    this.work = work;
  }

  /** Cancels {@code work} when the client has left. */
  static void watch(HttpServerExchange exchange, Future<?> work) {
    if (exchange.getConnection() instanceof HttpServerConnection connection) {
      new DisconnectWatch(exchange, connection, work).lookLater();
    }
  }

  private void lookLater() {
    exchange.getIoThread().executeAfter(this::look, EVERY_MS, TimeUnit.MILLISECONDS);
  }

  private void look() {
    if (work.isDone()) {
      return;
    }
    if (isThere()) {
      lookLater();
    } else {
      IoUtils.safeClose(connection);
      work.cancel(false);
    }
  }

  private boolean isThere() {
    if (connection.getExtraBytes() != null) {
      return connection.isOpen();
    }
    PooledByteBuffer buffer = connection.getByteBufferPool().allocate();
    int read = -1;
    try {
      read = connection.getOriginalSourceConduit().read(buffer.getBuffer());
    } catch (IOException gone) {
      return false;
    } finally {
      if (read <= 0) {
        buffer.close();
      }
    }
    if (read > 0) {
      buffer.getBuffer().flip();
      connection.ungetRequestBytes(buffer);
    }
    return read >= 0;
  }
}
