package dev.sluice.server.grpc;

import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2CodecUtil;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Error;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Exception;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2HeadersEncoder;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2LocalFlowController;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Stream;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * HTTP/2 gives each stream a window of bytes that a client may send ahead of its reader, and gRPC
 * renews the window of the connection at once: a connection with a thousand streams may have a
 * thousand windows in memory. gRPC's tracers report bytes only when they are read. The flow
 * controller counts the others; it is asked every LOOK_BYTES, because it has to visit each stream.
 *
 * A call that the server has answered stays open until the client ends its own half. gRPC leaves it
 * open; here it is reset after HALF_CLOSED_MS, which gives the client time to end it.
 */

/**
 * Counts the bytes that one connection has received and the service has not read. Used by the
 * connection's thread alone.
 */
final class UnreadBytes {
  private static final Logger LOG = LoggerFactory.getLogger(UnreadBytes.class);

  /** The number of further bytes after which all streams are counted. */
  private static final int LOOK_BYTES = 256 << 10;

  private static final long LOOK_AGAIN_MS = 1_000;
  private static final long HALF_CLOSED_MS = 250;

  /** A connection with fewer unread bytes is never closed, however many others hold. */
  private static final long HARMLESS_BYTES = 1 << 20;

  private final RequestMemoryBudget budget;
  private final RequestMemoryBudget.Reservation part;
  private @Nullable Http2ConnectionHandler http2;
  private long since;
  private boolean scheduled;

  UnreadBytes(RequestMemoryBudget budget) {
    this.budget = budget;
    this.part = budget.part(this, null);
  }

  /** Returns how many streams are open. */
  int openStreams(ChannelHandlerContext context) {
    Http2ConnectionHandler handler = handler(context);
    return handler == null ? 0 : handler.connection().numActiveStreams();
  }

  void received(int bytes) {
    since += bytes;
  }

  /** Counts if {@link #LOOK_BYTES} have arrived since the last time. */
  boolean isTooMuch(ChannelHandlerContext context) {
    Http2ConnectionHandler handler = handler(context);
    if (handler == null || since < LOOK_BYTES) {
      return false;
    }
    since = 0;
    return isTooMuch(context, handler);
  }

  /** Counts now. */
  boolean isStillTooMuch(ChannelHandlerContext context) {
    Http2ConnectionHandler handler = handler(context);
    return handler != null && isTooMuch(context, handler);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // on the connection's thread, as all of it
  private boolean isTooMuch(ChannelHandlerContext context, Http2ConnectionHandler handler) {
    long unread = unread(handler);
    boolean fits = part.set(unread);
    if (unread > 0 && !scheduled) {
      scheduled = true;
      context
          .executor()
          .schedule(() -> lookAgain(context, handler), LOOK_AGAIN_MS, TimeUnit.MILLISECONDS);
    }
    return unread > HARMLESS_BYTES && (!fits || unread > budget.connectionMax());
  }

  /** Counts again, so that bytes read meanwhile are given back. */
  private void lookAgain(ChannelHandlerContext context, Http2ConnectionHandler handler) {
    scheduled = false;
    if (context.channel().isActive()) {
      isTooMuch(context, handler);
    }
  }

  private static long unread(Http2ConnectionHandler handler) {
    Http2LocalFlowController flow = handler.decoder().flowController();
    long[] sum = {0};
    try {
      handler
          .connection()
          .forEachActiveStream(
              stream -> {
                // gRPC drops bytes of a call that is answered.
                sum[0] += isAnswered(stream) ? 0 : flow.unconsumedBytes(stream);
                return true;
              });
    } catch (Http2Exception impossible) {
      LOG.debug("streams could not be counted", impossible);
    }
    return sum[0];
  }

  private static boolean isAnswered(Http2Stream stream) {
    return stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL;
  }

  /** Returns null until the TLS handshake is over. */
  private @Nullable Http2ConnectionHandler handler(ChannelHandlerContext context) {
    if (http2 == null) {
      http2 = context.pipeline().get(Http2ConnectionHandler.class);
      if (http2 != null) {
        http2.connection().addListener(new HalfClosed(context, http2));
      }
    }
    return http2;
  }

  /**
   * Keeps the table of headers that the server has sent at its default size. A client may ask for 4
   * GiB, and answers with ever new messages would fill it.
   */
  void boundHeaderTable(ChannelHandlerContext context) {
    Http2ConnectionHandler handler = handler(context);
    if (handler == null) {
      return;
    }
    Http2HeadersEncoder.Configuration headers =
        handler.encoder().configuration().headersConfiguration();
    try {
      if (headers.maxHeaderTableSize() > Http2CodecUtil.DEFAULT_HEADER_TABLE_SIZE) {
        headers.maxHeaderTableSize(Http2CodecUtil.DEFAULT_HEADER_TABLE_SIZE);
      }
    } catch (Http2Exception impossible) {
      LOG.debug("the header table could not be bounded", impossible);
    }
  }

  void close() {
    part.close();
  }

  /** Resets streams that the client leaves open after it has been answered. */
  private static final class HalfClosed extends Http2ConnectionAdapter {
    private final ChannelHandlerContext context;
    private final Http2ConnectionHandler handler;

    HalfClosed(ChannelHandlerContext context, Http2ConnectionHandler handler) {
      this.context = context;
      this.handler = handler;
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // on the connection's thread, as all of it
    public void onStreamHalfClosed(Http2Stream stream) {
      if (isAnswered(stream)) {
        context.executor().schedule(() -> reset(stream), HALF_CLOSED_MS, TimeUnit.MILLISECONDS);
      }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it fails only if the client has disconnected
    private void reset(Http2Stream stream) {
      if (isAnswered(stream) && context.channel().isActive()) {
        ChannelHandlerContext its = context.pipeline().context(handler);
        if (its != null) {
          handler.resetStream(its, stream.id(), Http2Error.NO_ERROR.code(), its.newPromise());
          its.flush();
        }
      }
    }
  }
}
