package dev.sluice.server.http;

import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.undertow.connector.PooledByteBuffer;
import io.undertow.server.Connectors;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.protocol.http.HttpContinue;
import io.undertow.util.Headers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.xnio.Option;
import org.xnio.XnioExecutor;
import org.xnio.channels.StreamSourceChannel;

/*
 * Undertow's own receiver does not tell a body that is too large from a broken connection, and its
 * limit on chunks prints a stack trace: bytes are counted here instead. Bytes beyond the limit are
 * discarded, up to as many again, because a client reads the error only after it has sent
 * everything; the connection of a client that sends more is closed.
 */

/** Reads the body of a request, without holding a thread while it comes. */
public final class RequestBodyReader {
  /** The largest body, in place of Undertow's MAX_ENTITY_SIZE. */
  public static final Option<Integer> MAX_BYTES =
      Option.simple(RequestBodyReader.class, "MAX_BYTES", Integer.class);

  /** The shortest interval between two checks of the pace of one request. */
  private static final long LEAST_CHECK_MS = 100;

  private final HttpServerExchange exchange;
  private final Receiver receiver;
  private final long limit;
  private final RequestMemoryBudget.Reservation room;
  private final MinimumTransferRate pace;
  private final long from = System.nanoTime();
  private final List<byte[]> kept = new ArrayList<>();
  private final StreamSourceChannel channel;
  // Touched by one thread at a time: the caller's, then the connection's.
  private long seen;
  private boolean over;
  private boolean refused;
  private @Nullable IOException broken;
  private volatile XnioExecutor.@Nullable Key check;

  /** Receives the outcome once. */
  public interface Receiver {
    /** Everything is there. The room may have been evicted meanwhile. */
    void received(byte[] body);

    /** There is more than the limit. */
    void tooLarge(long limit);

    /** There is no memory for it now. */
    void noRoom();

    /** It broke off, or is no proper body. */
    void broken(IOException why);
  }

  private RequestBodyReader(
      HttpServerExchange exchange,
      RequestMemoryBudget.Reservation room,
      MinimumTransferRate pace,
      Receiver receiver) {
    this.exchange = exchange;
    this.room = room;
    this.pace = pace;
    this.receiver = receiver;
    this.limit = limit(exchange);
    this.channel = exchange.getRequestChannel();
  }

  private static long limit(HttpServerExchange exchange) {
    return exchange.getConnection().getUndertowOptions().get(MAX_BYTES);
  }

  private static boolean isChunked(HttpServerExchange exchange) {
    return exchange.getRequestHeaders().contains(Headers.TRANSFER_ENCODING);
  }

  /** Called while the exchange is being handled; {@code room} holds the received bytes. */
  public static void read(
      HttpServerExchange exchange,
      RequestMemoryBudget.Reservation room,
      MinimumTransferRate pace,
      Receiver receiver) {
    if (exchange.isRequestComplete()) {
      receiver.received(new byte[0]);
    } else {
      new RequestBodyReader(exchange, room, pace, receiver).begin();
    }
  }

  /** An answer comes before the end of the body: of one without a known end nothing is awaited. */
  static void giveUp(HttpServerExchange exchange) {
    boolean endless = isChunked(exchange) || exchange.getRequestContentLength() > limit(exchange);
    if (!exchange.isRequestComplete() && endless) {
      exchange.setPersistent(false);
      Connectors.terminateRequest(exchange);
    }
  }

  private void begin() {
    if (exchange.getRequestContentLength() > limit) {
      receiver.tooLarge(limit);
      return;
    }
    try {
      sendContinue();
    } catch (IOException gone) {
      receiver.broken(gone);
      return;
    }
    if (readSome()) {
      end();
    } else {
      exchange.addExchangeCompleteListener(
          (done, next) -> {
            forgetCheck();
            next.proceed();
          });
      exchange.dispatch(exchange.getIoThread(), this::await);
    }
  }

  /**
   * Waits for the rest. Runs on the connection's thread after the caller's has left the exchange:
   * the end of the body, a check of the pace and an eviction handle the exchange there.
   */
  private void await() {
    checkPaceLater();
    channel.getReadSetter().set(same -> more());
    channel.resumeReads();
    room.evictBy(() -> exchange.getIoThread().execute(this::evict));
  }

  /**
   * Sends 100 Continue where the client waits for it. Fails if the socket has no room even for
   * that: the client has not read its earlier answers, and a thread that waited for it would be
   * lost.
   */
  private void sendContinue() throws IOException {
    if (HttpContinue.requiresContinueResponse(exchange)
        && !HttpContinue.createResponseSender(exchange).send()) {
      throw new IOException("the client does not read");
    }
  }

  private void more() {
    if (!over && readSome()) {
      channel.suspendReads();
      Connectors.executeRootHandler(same -> end(), exchange);
    }
  }

  /** Schedules the next check for when the bytes so far are too few. */
  private void checkPaceLater() {
    long nanos = pace.allowedNanos(seen) - (System.nanoTime() - from);
    long millis = Math.max(LEAST_CHECK_MS, TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
    check = exchange.getIoThread().executeAfter(this::checkPace, millis, TimeUnit.MILLISECONDS);
  }

  private void forgetCheck() {
    XnioExecutor.Key last = check;
    if (last != null) {
      last.remove();
    }
  }

  private void checkPace() {
    if (over) {
      return;
    }
    if (!pace.isTooSlow(System.nanoTime() - from, seen)) {
      checkPaceLater();
      return;
    }
    broken = new IOException("the body takes too long");
    stop();
  }

  /** Another request needs the room of this one, which has not arrived yet. */
  private void evict() {
    if (!over) {
      refused = true;
      drop();
      exchange.setPersistent(false);
      Connectors.terminateRequest(exchange);
      stop();
    }
  }

  /** Ends before the body does. */
  private void stop() {
    over = true;
    channel.suspendReads();
    Connectors.executeRootHandler(same -> end(), exchange);
  }

  /** Reads the available bytes; returns true at the end of the body. */
  private boolean readSome() {
    try (PooledByteBuffer pooled = exchange.getConnection().getByteBufferPool().allocate()) {
      ByteBuffer buffer = pooled.getBuffer();
      for (int read; !over && (read = channel.read(buffer.clear())) != 0; ) {
        over = read < 0 || !keep(buffer.flip());
      }
    } catch (IOException failure) {
      broken = failure;
      over = true;
    }
    return over;
  }

  /** False if there is no use in reading on. */
  private boolean keep(ByteBuffer buffer) {
    seen += buffer.remaining();
    if (seen > limit) {
      drop();
    } else if (!refused && room.take(buffer.remaining())) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      kept.add(bytes);
    } else {
      refused = true;
      drop();
    }
    return seen <= 2 * limit;
  }

  private void drop() {
    kept.clear();
    room.close();
  }

  private byte[] together() {
    ByteBuffer all = ByteBuffer.allocate((int) seen);
    kept.forEach(all::put);
    kept.clear();
    return all.array();
  }

  private void end() {
    // This thread may have read the rest of the body before it saw an eviction.
    refused |= room.isEvicted();
    if (broken != null) {
      // Undertow may keep the closed connection, and with it the body, for a while.
      drop();
      receiver.broken(broken);
    } else if (seen > limit) {
      receiver.tooLarge(limit);
    } else if (refused) {
      drop();
      receiver.noRoom();
    } else {
      receiver.received(together());
    }
  }
}
