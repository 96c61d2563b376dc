package dev.sluice.server;

import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Closes gRPC connections beyond the limit and adds a {@link FrameGuard} to the others, which can
 * be closed by the address of their client. Runs before the handler that accepts them.
 */
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private final int max;
  private final Supplier<FrameGuard> guards;
  private final AtomicInteger open = new AtomicInteger();
  private final Map<SocketAddress, Channel> connections = new ConcurrentHashMap<>();

  ConnectionLimit(int max, Supplier<FrameGuard> guards) {
    this.max = max;
    this.guards = guards;
  }

  int open() {
    return open.get();
  }

  /** Closes the connection of the client at {@code address}, if it is open, with a reason. */
  void cut(SocketAddress address, String reason) {
    Channel connection = connections.get(address);
    if (connection != null) {
      connection.eventLoop().execute(() -> FrameGuard.close(connection.pipeline(), reason));
    }
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
    SocketAddress client = connection.remoteAddress();
    if (client != null) {
      connections.put(client, connection);
    }
    connection
        .closeFuture()
        .addListener(
            closed -> {
              open.decrementAndGet();
              if (client != null) {
                connections.remove(client, connection);
              }
            });
    connection.pipeline().addLast(new GuardedConnection(guards));
    context.fireChannelRead(connection);
  }
}
