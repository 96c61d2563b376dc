package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.grpc.Http2FloodGuard;
import dev.sluice.server.grpc.PendingCallLimiter;
import dev.sluice.server.grpc.UnauthenticatedCallLimiter;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.embedded.EmbeddedChannel;
import io.grpc.netty.shaded.io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The frames that pass a connection's guard, and their buffers. */
final class FrameGuardTest {
  private static final int MANY = 1_000;

  private final PendingCallLimiter gate = new PendingCallLimiter(MANY);
  private final Http2FloodGuard guard = new Http2FloodGuard(gate, new RequestMemoryBudget(1 << 20));
  private final EmbeddedChannel channel = new EmbeddedChannel(guard);

  private List<ByteBuf> passed() {
    List<ByteBuf> all = new ArrayList<>();
    channel.runPendingTasks();
    for (ByteBuf each = channel.readInbound(); each != null; each = channel.readInbound()) {
      all.add(each);
    }
    return all;
  }

  private static byte[] bytes(List<ByteBuf> buffers) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    buffers.forEach(
        each -> {
          byte[] part = new byte[each.readableBytes()];
          each.getBytes(each.readerIndex(), part);
          all.writeBytes(part);
        });
    return all.toByteArray();
  }

  private static byte[] calls(int count) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int i = 0; i < count; i++) {
      all.writeBytes(frame(RawHttp2.HEADERS, 5, 2 * i + 1, new byte[] {(byte) i}));
    }
    return all.toByteArray();
  }

  @Test
  void bytes_passUnchanged_atAnyChunking() {
    Random random = new Random(19);
    ByteArrayOutputStream sent = new ByteArrayOutputStream();
    sent.writeBytes(RawHttp2.begin());
    for (int i = 1; i < 300; i++) {
      byte[] payload = new byte[1 + random.nextInt(random.nextBoolean() ? 20 : 3_000)];
      random.nextBytes(payload);
      sent.writeBytes(frame(random.nextInt(2), 1, i, payload));
    }
    byte[] all = sent.toByteArray();
    List<ByteBuf> passed = new ArrayList<>();
    List<ByteBuf> chunks = new ArrayList<>();
    for (int at = 0; at < all.length; ) {
      int to = Math.min(all.length, at + 1 + random.nextInt(16_000));
      ByteBuf chunk = Unpooled.wrappedBuffer(Arrays.copyOfRange(all, at, to));
      chunks.add(chunk);
      channel.writeInbound(chunk);
      passed.addAll(passed());
      for (int i = 0; i < UnauthenticatedCallLimiter.MAX; i++) {
        guard.keyShown();
        guard.keyEnded();
      }
      at = to;
    }
    assertThat(bytes(passed)).isEqualTo(all);
    passed.forEach(ReferenceCountUtil::release);
    assertThat(chunks).allSatisfy(each -> assertThat(each.refCnt()).isZero());
  }

  /** Else a byte would keep 16 KiB from being freed. */
  @Test
  void smallData_doesNotKeepALargeBuffer() {
    byte[] chunk =
        RawHttp2.join(
            RawHttp2.begin(),
            frame(RawHttp2.HEADERS, 4, 1, new byte[8_000]),
            frame(RawHttp2.DATA, 0, 1, new byte[] {42}),
            frame(RawHttp2.HEADERS, 4, 3, new byte[8_000]));
    channel.writeInbound(Unpooled.wrappedBuffer(chunk));
    List<ByteBuf> passed = passed();
    assertThat(bytes(passed)).isEqualTo(chunk);
    assertThat(passed)
        .anySatisfy(
            each -> {
              assertThat(each.readableBytes()).isEqualTo(1);
              assertThat(each.getByte(0)).isEqualTo((byte) 42);
              assertThat(each.capacity()).isEqualTo(1);
            });
  }

  private static final class Beginning extends ChannelInboundHandlerAdapter {
    private final PendingCallLimiter gate;

    Beginning(PendingCallLimiter gate) {
      this.gate = gate;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      for (int i = 0; i < (((ByteBuf) bytes).readableBytes() + 1) / 10; i++) {
        gate.begun();
      }
      context.fireChannelRead(bytes);
    }
  }

  /** The rest waits until threads have looked at the calls before. */
  @Test
  void calls_waitWhileTooManyAreUnprocessed() {
    channel.writeInbound(Unpooled.wrappedBuffer(RawHttp2.begin()));
    for (int i = 0; i < MANY; i++) {
      gate.begun();
    }
    assertThat(passed()).hasSize(1);
    // Each call has ten bytes, and begins when it passes.
    channel.pipeline().addLast(new Beginning(gate));
    byte[] sent = calls(2 * PendingCallLimiter.TURN);
    channel.writeInbound(Unpooled.wrappedBuffer(sent));
    assertThat(passed()).isEmpty();
    assertThat(channel.config().isAutoRead()).isFalse();
    for (int i = 0; i < PendingCallLimiter.TURN; i++) {
      gate.seen();
    }
    List<ByteBuf> first = passed();
    // The header of the next call may go with them, but not the call.
    assertThat(bytes(first))
        .hasSizeBetween(10 * PendingCallLimiter.TURN - 1, 10 * PendingCallLimiter.TURN);
    for (int i = 0; i < 4 * PendingCallLimiter.TURN; i++) {
      gate.seen();
    }
    List<ByteBuf> rest = passed();
    first.addAll(rest);
    assertThat(bytes(first)).isEqualTo(sent);
    assertThat(channel.config().isAutoRead()).isTrue();
  }

  @Test
  void closedConnection_releasesItsMemory() {
    for (int i = 0; i < MANY; i++) {
      gate.begun();
    }
    ByteBuf chunk = Unpooled.wrappedBuffer(RawHttp2.join(RawHttp2.begin(), calls(50)));
    channel.writeInbound(chunk);
    assertThat(channel.close().isDone()).isTrue();
    assertThat(chunk.refCnt()).isZero();
  }

  /** Resets a call for each read, as gRPC does after an error. */
  private static final class Resetting extends ChannelInboundHandlerAdapter {
    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // an embedded channel writes at once
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      ReferenceCountUtil.release(bytes);
      byte[] resets = RawHttp2.repeat(frame(RawHttp2.RESET, 0, 1, new byte[] {0, 0, 0, 1}), MANY);
      context.writeAndFlush(Unpooled.wrappedBuffer(resets));
    }
  }

  /** A connection that is closed while its frames are passed on gives back its turn. */
  @Test
  void connectionClosedInItsTurn_releasesItsTurns() {
    channel.writeInbound(Unpooled.wrappedBuffer(RawHttp2.begin()));
    for (int i = 0; i < MANY; i++) {
      gate.begun();
    }
    passed().forEach(ReferenceCountUtil::release);
    channel.pipeline().addLast(new Resetting());
    byte[] small = frame(RawHttp2.DATA, 0, 1, new byte[] {42});
    ByteBuf chunk = Unpooled.wrappedBuffer(RawHttp2.join(calls(2), small, calls(200)));
    channel.writeInbound(chunk);
    assertThat(channel.isOpen()).isTrue();
    for (int i = 0; i < MANY; i++) {
      gate.seen();
    }
    channel.runPendingTasks();
    assertThat(channel.isOpen()).isFalse();
    assertThat(chunk.refCnt()).isZero();
    channel.checkException();
    // All turns are there for others.
    List<Integer> turns = new ArrayList<>();
    for (int i = 0; i < MANY / PendingCallLimiter.TURN; i++) {
      gate.enter(() -> turns.add(1));
    }
    assertThat(turns).hasSize(MANY / PendingCallLimiter.TURN);
  }

  @Test
  void callsWithoutAKey_waitUntilOneIsShown() {
    channel.writeInbound(Unpooled.wrappedBuffer(RawHttp2.begin()));
    passed().forEach(ReferenceCountUtil::release);
    byte[] sent = calls(UnauthenticatedCallLimiter.MAX + 10);
    channel.writeInbound(Unpooled.wrappedBuffer(sent));
    List<ByteBuf> passed = passed();
    // The header of the next call may go with them, but not the call.
    assertThat(bytes(passed)).hasSize(10 * UnauthenticatedCallLimiter.MAX_OF_A_STRANGER + 9);
    assertThat(channel.config().isAutoRead()).isFalse();
    for (int i = 0; i < 10; i++) {
      guard.keyShown();
    }
    passed.addAll(passed());
    assertThat(bytes(passed)).isEqualTo(sent);
    assertThat(channel.config().isAutoRead()).isTrue();
    passed.forEach(ReferenceCountUtil::release);
  }

  /** HTTP/2 has windows for DATA alone. */
  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // the frames are not flushed
  void connectionThatDoesNotRead_isClosed_soonerWithoutAKey() {
    channel.writeInbound(Unpooled.wrappedBuffer(RawHttp2.begin()));
    passed().forEach(ReferenceCountUtil::release);
    byte[] answer = frame(RawHttp2.HEADERS, 5, 1, new byte[16_000]);
    guard.keyShown();
    for (int i = 0; i < 60; i++) {
      channel.write(Unpooled.wrappedBuffer(answer));
    }
    assertThat(channel.isOpen()).isTrue();
    EmbeddedChannel stranger =
        new EmbeddedChannel(new Http2FloodGuard(gate, new RequestMemoryBudget(1 << 20)));
    for (int i = 0; i < 10; i++) {
      stranger.write(Unpooled.wrappedBuffer(answer));
    }
    assertThat(stranger.isOpen()).isFalse();
  }
}
