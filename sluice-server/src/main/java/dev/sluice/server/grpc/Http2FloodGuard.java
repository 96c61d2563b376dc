package dev.sluice.server.grpc;

import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.channel.ChannelDuplexHandler;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * Sits between the socket (or TLS) and gRPC's HTTP/2 handler, and inspects the header of each frame
 * in both directions. It bounds the resources that gRPC leaves unbounded:
 *
 *  - control frames, empty frames and resets, in either direction (ControlFrameLimiter): a connection
 *    beyond its allowance is closed before the HTTP/2 handler has worked for the frame;
 *  - calls that have shown no valid key (UnauthenticatedCallLimiter): further calls wait here, and the
 *    connection is closed if that takes too long;
 *  - calls that have begun and that no worker has started (PendingCallLimiter): further frames are held here
 *    and passed on a few calls at a time, and the socket is not read meanwhile;
 *  - bytes that the service has not read, and streams that the client leaves open (UnreadBytes).
 *    Small frames are copied, because gRPC would keep their whole buffer;
 *  - frames that the client does not read. HTTP/2 bounds DATA by its windows, and nothing else.
 *
 * A connection that does not read (waiting) waits for its turn at the gate, or checks repeatedly
 * whether it may read again (look != null).
 *
 * Everything runs on the connection's thread, except keyShown and keyEnded.
 */

/** Closes a gRPC connection that floods, and pauses one that sends faster than it is served. */
public final class Http2FloodGuard extends ChannelDuplexHandler {
  private static final Logger LOG = LoggerFactory.getLogger(Http2FloodGuard.class);

  /** A reset is rapid if its call began less than this ago (up to twice this, by the marks). */
  private static final long RAPID_NANOS = 100_000_000L;

  /** A frame is copied if it is smaller than one part in this many of its buffer. */
  private static final int SMALL_PART = 4;

  /** The most checks whether a blocked connection may continue before it is closed: 2 s. */
  private static final int MAX_LOOKS = 100;

  private static final long LOOK_MS = 20;

  /** Bytes that may wait for a client to read, before and after it has shown a key. */
  private static final long STRANGER_UNSENT_BYTES = 64 << 10;

  private static final long UNSENT_BYTES = 1 << 20;
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

  /** The calls that a connection may begin in a row if no other connection waits. */
  private static final int CALLS_IN_A_ROW = 64;

  private final PendingCallLimiter gate;
  private final UnreadBytes unread;
  private final Http2FrameScanner in = new Http2FrameScanner(Http2FrameScanner.PREFACE_BYTES);
  private final Http2FrameScanner out = new Http2FrameScanner(0);
  private final ControlFrameLimiter allowance = new ControlFrameLimiter(System.nanoTime());
  private final UnauthenticatedCallLimiter calls =
      new UnauthenticatedCallLimiter(System.nanoTime());
  private final AtomicBoolean awaitsKey = new AtomicBoolean();
  private final Queue<ByteBuf> held = new ArrayDeque<>();
  private @Nullable ChannelHandlerContext itself;
  private int callsLeft;

  /** True while a call whose first frame was scanned has to wait, with all frames behind it. */
  private boolean unadmitted;

  private @Nullable Future<?> look;
  private int looks;
  private boolean small;
  private boolean waiting;
  private boolean closed;

  // The newest stream: now, at the last mark and at the mark before. Marks are 0.1 s apart or more.
  private int newest;
  private int newestAtMark;
  private int settled;
  private long markNanos = System.nanoTime();

  public Http2FloodGuard(PendingCallLimiter gate, RequestMemoryBudget unread) {
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

  /** Passes on held frames until {@code most} calls have begun; waits its turn for the rest. */
  private void pump(ChannelHandlerContext context, int most) {
    long now = System.nanoTime();
    mark(now);
    calls.refill(now);
    callsLeft = most;
    while (!held.isEmpty() && !closed && !unadmitted && callsLeft > 0) {
      ByteBuf bytes = held.element();
      int end = scan(context, bytes, now);
      if (closed) {
        close(context, TOO_MANY_FRAMES);
      } else if (end == bytes.writerIndex()) {
        context.fireChannelRead(held.remove());
      } else {
        context.fireChannelRead(bytes.readRetainedSlice(end - bytes.readerIndex()));
        copyIfSmall(context, bytes);
      }
    }
    if (closed) {
      return;
    }
    unread.boundHeaderTable(context);
    if (unread.isTooMuch(context) || unadmitted) {
      stopReading(context);
      looks = 0;
      lookLater(context);
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

  private void lookLater(ChannelHandlerContext context) {
    look = context.executor().schedule(() -> look(context), LOOK_MS, TimeUnit.MILLISECONDS);
    awaitsKey.set(unadmitted);
  }

  /** Goes on if nothing keeps the connection any more; closes it if that takes too long. */
  private void look(ChannelHandlerContext context) {
    look = null;
    String obstacle = closed ? null : obstacle(context);
    looks++;
    if (obstacle == null) {
      goOn(context, callsNow());
    } else if (looks < MAX_LOOKS) {
      lookLater(context);
    } else {
      LOG.debug("a connection cannot continue: {}", obstacle);
      close(context, obstacle);
    }
  }

  private @Nullable String obstacle(ChannelHandlerContext context) {
    if (unread.isStillTooMuch(context)) {
      return "too_many_unread_bytes";
    }
    if (calls.isKnown()) {
      // Else a flood would go on slowly: a stranger has to show a key, or is closed.
      calls.refill(System.nanoTime());
    }
    unadmitted = unadmitted && !calls.begin(unread.openStreams(context));
    return unadmitted ? "too_many_calls_without_a_key" : null;
  }

  /** A call of this connection has shown a valid key. Thread-safe. */
  public void keyShown() {
    calls.shown();
    ChannelHandlerContext context = itself;
    if (context != null && awaitsKey.compareAndSet(true, false)) {
      context.executor().execute(() -> lookNow(context));
    }
  }

  /** A key was shown: the connection gets the whole time again. */
  private void lookNow(ChannelHandlerContext context) {
    if (look != null && look.cancel(false)) {
      looks = 0;
      look(context);
    }
  }

  /** A call of this connection that had shown a key has ended. Thread-safe. */
  public void keyEnded() {
    calls.ended();
  }

  private void resume(ChannelHandlerContext context) {
    try {
      goOn(context, PendingCallLimiter.TURN);
    } finally {
      gate.turnOver();
    }
  }

  private void goOn(ChannelHandlerContext context, int most) {
    waiting = false;
    pump(context, most);
    if (!waiting && !closed) {
      context.fireChannelReadComplete();
      context.channel().config().setAutoRead(true);
    }
  }

  /** Copies a small frame out of a large buffer, which gRPC would keep as a whole. */
  private void copyIfSmall(ChannelHandlerContext context, ByteBuf bytes) {
    if (small && !closed) {
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
    return in.type() == Http2FrameScanner.DATA
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
  private int scan(ChannelHandlerContext context, ByteBuf bytes, long now) {
    int at = bytes.readerIndex();
    int open = unread.openStreams(context);
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
      if (in.type() == Http2FrameScanner.HEADERS) {
        callsLeft--;
        callsNow--;
        unadmitted = isNewest() && !calls.begin(open++);
        if (unadmitted) {
          return at;
        }
      }
      if (isSmall(bytes, at)) {
        small = true;
        return at;
      }
    }
    return at;
  }

  /** Returns whether the frame opens a stream: numbers of streams only grow. */
  private boolean isNewest() {
    boolean opens = in.stream() > newest;
    newest = Math.max(newest, in.stream());
    return opens;
  }

  private int price() {
    return switch (in.type()) {
      case Http2FrameScanner.DATA -> {
        unread.received(in.length());
        boolean empty = in.length() == 0 || in.hasFlag(PADDED);
        yield empty && !in.hasFlag(END_STREAM) ? 1 : 0;
      }
      case Http2FrameScanner.HEADERS -> 0;
      case Http2FrameScanner.RST_STREAM -> in.stream() > settled ? ControlFrameLimiter.DEAR : 1;
      case Http2FrameScanner.PING -> in.hasFlag(ACK) ? 1 : 2;
      case Http2FrameScanner.PRIORITY,
          Http2FrameScanner.WINDOW_UPDATE,
          Http2FrameScanner.CONTINUATION ->
          1;
      default -> ControlFrameLimiter.DEAR;
    };
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the promise is the future
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    boolean flood = message instanceof ByteBuf bytes && !isAffordable(bytes);
    context.write(message, promise);
    if (closed) {
      return;
    }
    if (flood) {
      LOG.debug("a connection has made the server reset too many calls");
      close(context, TOO_MANY_FRAMES);
    } else if (context.channel().bytesBeforeWritable() > unsentBytes()) {
      LOG.debug("a connection does not read");
      close(context, "answers_not_read");
    }
  }

  private long unsentBytes() {
    return calls.isKnown() ? UNSENT_BYTES : STRANGER_UNSENT_BYTES;
  }

  /** Counts sent frames; returns false after too many resets that the client caused. */
  private boolean isAffordable(ByteBuf bytes) {
    boolean affordable = true;
    for (int at = bytes.readerIndex(); (at = out.next(bytes, at)) >= 0; ) {
      if (out.type() == Http2FrameScanner.HEADERS && out.hasFlag(END_STREAM)) {
        allowance.earn(ControlFrameLimiter.EARNED_BY_END);
      } else if (out.type() == Http2FrameScanner.DATA || out.type() == Http2FrameScanner.HEADERS) {
        allowance.earn(ControlFrameLimiter.EARNED);
      } else if (out.type() == Http2FrameScanner.RST_STREAM) {
        affordable &= allowance.spend(resetPrice(bytes, at), System.nanoTime());
      }
    }
    return affordable;
  }

  /** Returns the price that a client pays for a reset by the server, by its error code. */
  private static int resetPrice(ByteBuf bytes, int at) {
    if (bytes.writerIndex() - at < Integer.BYTES) {
      return ControlFrameLimiter.INDUCED;
    }
    return switch (bytes.getInt(at)) {
      case NO_ERROR, CANCEL -> 0;
      // A client may have sent before it heard of the end, or of the bound on calls.
      case STREAM_CLOSED, REFUSED_STREAM -> ControlFrameLimiter.DEAR;
      default -> ControlFrameLimiter.INDUCED;
    };
  }

  /** Closes the connection at once. Must run on its event loop. */
  void close(String reason) {
    ChannelHandlerContext context = itself;
    if (context != null && !closed) {
      LOG.debug("a connection is closed: {}", reason);
      close(context, reason);
    }
  }

  /** Sends GOAWAY with the reason and closes; no further frame is passed on. */
  @SuppressWarnings("FutureReturnValueIgnored") // it fails only if the client has disconnected
  private void close(ChannelHandlerContext context, String reason) {
    closed = true;
    byte[] why = reason.getBytes(StandardCharsets.US_ASCII);
    ByteBuf goAway = context.alloc().buffer();
    goAway
        .writeMedium(2 * Integer.BYTES + why.length)
        .writeByte(Http2FrameScanner.GOAWAY)
        .writeByte(0);
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
  public void handlerAdded(ChannelHandlerContext context) {
    itself = context;
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
