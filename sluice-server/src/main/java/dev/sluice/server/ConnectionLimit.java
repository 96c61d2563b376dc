package dev.sluice.server;

import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Closes gRPC connections beyond the limit and adds a {@link FrameGuard} to the others. Runs before
 * the handler that accepts them.
 */
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private final int max;
  private final Supplier<FrameGuard> guards;
  private final AtomicInteger open = new AtomicInteger();

  ConnectionLimit(int max, Supplier<FrameGuard> guards) {
    this.max = max;
    this.guards = guards;
  }

  int open() {
    return open.get();
  }

  @Override
  public boolean isSharable() {
    return true;
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the listener's future is the connection's
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel connection = (Channel) accepted;
    if (open.incrementAndGet() > max) {
      open.decrementAndGet();
      // It belongs to no event loop yet, and so cannot be closed in the ordinary way.
      connection.unsafe().closeForcibly();
      return;
    }
    connection.closeFuture().addListener(closed -> open.decrementAndGet());
    connection.pipeline().addLast(new GuardedConnection(guards));
    context.fireChannelRead(connection);
  }
}
