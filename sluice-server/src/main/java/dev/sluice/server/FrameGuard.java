package dev.sluice.server;

import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.channel.ChannelDuplexHandler;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelPipeline;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * Sits between the socket (or TLS) and gRPC's HTTP/2 handler, and inspects the header of each frame
 * in both directions. Three things are bounded here because gRPC does not bound them:
 *
 *  - control frames, empty frames and resets, in either direction, and calls without a valid key
 *    (FrameAllowance): a connection beyond its allowance is closed before the HTTP/2 handler has
 *    worked for the frame;
 *  - calls that have begun and that no worker has started (CallGate): further frames are held here
 *    and passed on a few calls at a time, and the socket is not read meanwhile;
 *  - bytes that the service has not read, and streams that the client leaves open (UnreadBytes).
 *    Small frames are copied, because gRPC would keep their whole buffer.
 *
 * Everything runs on the connection's thread.
 */

/** Closes a gRPC connection that floods, and pauses one that sends faster than it is served. */
final class FrameGuard extends ChannelDuplexHandler {
  private static final Logger LOG = LoggerFactory.getLogger(FrameGuard.class);

  /** A reset is rapid if its call began less than this ago (up to twice this, by the marks). */
  private static final long RAPID_NANOS = 100_000_000L;

  /** A frame is copied if it is smaller than one part in this many of its buffer. */
  private static final int SMALL_PART = 4;

  /** How long a connection may hold too many unread bytes before it is closed. */
  private static final long UNREAD_NANOS = 2_000_000_000L;

  private static final long UNREAD_LOOK_MS = 20;
  private static final String TOO_MANY_FRAMES = "too_many_frames";
  private static final int END_STREAM = 1;
  private static final int ACK = 1;
  private static final int PADDED = 8;
  private static final int ENHANCE_YOUR_CALM = 11;
  private static final int NO_ERROR = 0;
  private static final int STREAM_CLOSED = 5;
  private static final int REFUSED_STREAM = 7;
  private static final int CANCEL = 8;

  /** Calls that begin before the resets with which the server answers them are counted. */
  private static final int CALLS_AT_ONCE = 32;

  /** How many calls a connection begins before it stands in line, if no other one does. */
  private static final int CALLS_IN_A_ROW = 64;

  private final CallGate gate;
  private final UnreadBytes unread;
  private final FrameScanner in = new FrameScanner(FrameScanner.PREFACE_BYTES);
  private final FrameScanner out = new FrameScanner(0);
  private final FrameAllowance allowance = new FrameAllowance(System.nanoTime());
  private final Queue<ByteBuf> held = new ArrayDeque<>();
  private int callsLeft;
  private boolean small;
  private boolean waiting;
  private boolean closed;

  // The newest stream: now, at the last mark and at the mark before. Marks are 0.1 s apart or more.
  private int newest;
  private int newestAtMark;
  private int settled;
  private long markNanos = System.nanoTime();

  FrameGuard(CallGate gate, InboundBudget unread) {
    this.gate = gate;
    this.unread = new UnreadBytes(unread);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    held.add((ByteBuf) message);
    if (!waiting) {
      pump(context, callsNow());
    }
  }

  /** Passes on held frames until {@code calls} calls have begun; waits its turn for the rest. */
  private void pump(ChannelHandlerContext context, int calls) {
    long now = System.nanoTime();
    mark(now);
    callsLeft = calls;
    while (!held.isEmpty() && !closed && callsLeft > 0) {
      ByteBuf bytes = held.element();
      int end = scan(bytes, now);
      if (closed) {
        close(context, TOO_MANY_FRAMES);
      } else if (end == bytes.writerIndex()) {
        context.fireChannelRead(held.remove());
      } else {
        context.fireChannelRead(bytes.readRetainedSlice(end - bytes.readerIndex()));
        copyIfSmall(context, bytes);
      }
    }
    if (!closed && unread.isTooMuch(context)) {
      stopReading(context);
      awaitReaders(context, now);
    } else if (!held.isEmpty()) {
      stopReading(context);
      gate.enter(() -> context.executor().execute(() -> resume(context)));
    }
  }

  private int callsNow() {
    return gate.isOpen() ? CALLS_IN_A_ROW : 0;
  }

  private void stopReading(ChannelHandlerContext context) {
    waiting = true;
    context.channel().config().setAutoRead(false);
  }

  /** Waits until the service has read enough; closes the connection if that takes too long. */
  @SuppressWarnings("FutureReturnValueIgnored") // on the connection's thread, as all of it
  private void awaitReaders(ChannelHandlerContext context, long since) {
    Runnable look =
        () -> {
          if (closed || !unread.isStillTooMuch(context)) {
            goOn(context, callsNow());
          } else if (System.nanoTime() - since > UNREAD_NANOS) {
            LOG.debug("a connection has too much that nobody has read");
            close(context, "too_many_unread_bytes");
          } else {
            awaitReaders(context, since);
          }
        };
    context.executor().schedule(look, UNREAD_LOOK_MS, TimeUnit.MILLISECONDS);
  }

  private void resume(ChannelHandlerContext context) {
    goOn(context, CallGate.TURN);
    gate.turnOver();
  }

  private void goOn(ChannelHandlerContext context, int calls) {
    waiting = false;
    pump(context, calls);
    if (!waiting && !closed) {
      context.fireChannelReadComplete();
      context.channel().config().setAutoRead(true);
    }
  }

  /** Copies a small frame out of a large buffer, which gRPC would keep as a whole. */
  private void copyIfSmall(ChannelHandlerContext context, ByteBuf bytes) {
    if (small) {
      small = false;
      int length = Math.min(in.length(), bytes.readableBytes());
      in.passed(length);
      context.fireChannelRead(context.alloc().buffer(length, length).writeBytes(bytes, length));
      if (!bytes.isReadable()) {
        held.remove().release();
      }
    }
  }

  private boolean isSmall(ByteBuf bytes, int at) {
    return in.type() == FrameScanner.DATA
        && in.length() > 0
        && in.length() < bytes.capacity() / SMALL_PART
        && at < bytes.writerIndex();
  }

  private void mark(long now) {
    if (now - markNanos > RAPID_NANOS) {
      markNanos = now;
      settled = newestAtMark;
      newestAtMark = newest;
    }
  }

  /** Scans up to a small frame, or the last call that may begin now; returns the index there. */
  private int scan(ByteBuf bytes, long now) {
    int at = bytes.readerIndex();
    int callsNow = Math.min(callsLeft, CALLS_AT_ONCE);
    while (callsNow > 0) {
      at = in.next(bytes, at);
      if (at < 0) {
        return bytes.writerIndex();
      }
      if (!allowance.spend(price(), now)) {
        LOG.debug("a connection has sent too many frames of type {}", in.type());
        closed = true;
        return at;
      }
      if (in.type() == FrameScanner.HEADERS) {
        callsLeft--;
        callsNow--;
      }
      if (isSmall(bytes, at)) {
        small = true;
        return at;
      }
    }
    return at;
  }

  private int price() {
    return switch (in.type()) {
      case FrameScanner.DATA -> {
        unread.received(in.length());
        boolean empty = in.length() == 0 || in.hasFlag(PADDED);
        yield empty && !in.hasFlag(END_STREAM) ? 1 : 0;
      }
      case FrameScanner.HEADERS -> {
        newest = Math.max(newest, in.stream());
        yield 0;
      }
      case FrameScanner.RST_STREAM -> in.stream() > settled ? FrameAllowance.DEAR : 1;
      case FrameScanner.PING -> in.hasFlag(ACK) ? 1 : 2;
      case FrameScanner.PRIORITY, FrameScanner.WINDOW_UPDATE, FrameScanner.CONTINUATION -> 1;
      default -> FrameAllowance.DEAR;
    };
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the promise is the future
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    boolean flood = message instanceof ByteBuf bytes && !isAffordable(bytes);
    context.write(message, promise);
    if (flood && !closed) {
      LOG.debug("a connection has made the server reset too many calls");
      close(context, TOO_MANY_FRAMES);
    }
  }

  /** Counts sent frames; returns false after too many resets that the client caused. */
  private boolean isAffordable(ByteBuf bytes) {
    boolean affordable = true;
    for (int at = bytes.readerIndex(); (at = out.next(bytes, at)) >= 0; ) {
      if (out.type() == FrameScanner.DATA && out.hasFlag(END_STREAM)) {
        // Only the answer to a request that is no gRPC ends so: gRPC ends answers by headers.
        affordable &= allowance.spend(FrameAllowance.DEAR, System.nanoTime());
      } else if (out.type() == FrameScanner.DATA || out.type() == FrameScanner.HEADERS) {
        allowance.earn(
            out.hasFlag(END_STREAM) ? FrameAllowance.EARNED_BY_END : FrameAllowance.EARNED);
      } else if (out.type() == FrameScanner.RST_STREAM) {
        affordable &= allowance.spend(resetPrice(bytes, at), System.nanoTime());
      }
    }
    return affordable;
  }

  /** Returns the price that a client pays for a reset by the server, by its error code. */
  private static int resetPrice(ByteBuf bytes, int at) {
    if (bytes.writerIndex() - at < Integer.BYTES) {
      return FrameAllowance.INDUCED;
    }
    return switch (bytes.getInt(at)) {
      case NO_ERROR, CANCEL -> 0;
      // A client may have sent before it heard of the end, or of the bound on calls.
      case STREAM_CLOSED, REFUSED_STREAM -> FrameAllowance.DEAR;
      default -> FrameAllowance.INDUCED;
    };
  }

  /** Closes the connection of {@code pipeline} at once. Must run on its event loop. */
  static void close(ChannelPipeline pipeline, String reason) {
    FrameGuard guard = pipeline.get(FrameGuard.class);
    if (guard != null && !guard.closed) {
      LOG.debug("a connection is closed: {}", reason);
      guard.close(pipeline.context(guard), reason);
    }
  }

  /**
   * Charges the connection of {@code pipeline} for a call without a valid key, and closes it after
   * too many. Must run on its event loop.
   */
  static void chargeCallWithoutKey(ChannelPipeline pipeline) {
    FrameGuard guard = pipeline.get(FrameGuard.class);
    if (guard != null && !guard.allowance.spend(FrameAllowance.WITHOUT_KEY, System.nanoTime())) {
      close(pipeline, "too_many_calls_without_a_key");
    }
  }

  /** Sends GOAWAY with the reason and closes; no further frame is passed on. */
  @SuppressWarnings("FutureReturnValueIgnored") // a client that is gone is just as well
  private void close(ChannelHandlerContext context, String reason) {
    closed = true;
    byte[] why = reason.getBytes(StandardCharsets.US_ASCII);
    ByteBuf goAway = context.alloc().buffer();
    goAway.writeMedium(2 * Integer.BYTES + why.length).writeByte(FrameScanner.GOAWAY).writeByte(0);
    goAway.writeInt(0).writeInt(Integer.MAX_VALUE).writeInt(ENHANCE_YOUR_CALM).writeBytes(why);
    context.writeAndFlush(goAway);
    context.close();
    forget();
  }

  private void forget() {
    closed = true;
    held.forEach(ByteBuf::release);
    held.clear();
    unread.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    forget();
    context.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    forget();
  }
}
