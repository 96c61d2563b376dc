package dev.sluice.server;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Closes gRPC connections beyond the limit, as {@link ConnectionShares} decides, and adds a {@link
 * FrameGuard} to the others, which can be closed by the address of their client. Runs before the
 * handler that accepts them.
 */
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private final ConnectionShares places;
  private final Supplier<FrameGuard> guards;
  private final Map<SocketAddress, Channel> connections = new ConcurrentHashMap<>();

  ConnectionLimit(int max, Supplier<FrameGuard> guards) {
    this.places = new ConnectionShares(max);
    this.guards = guards;
  }

  int open() {
    return places.open();
  }

  /** Returns an interceptor for calls with a key, which tells that their client has one. */
  ServerInterceptor ofCallers() {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        places.show(InboundCalls.connectionOf(call), Access.caller().account());
        return next.startCall(call, headers);
      }
    };
  }

  /** Returns an interceptor that charges a connection for each call that ends with such a code. */
  ServerInterceptor charging(Predicate<Status.Code> charged) {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        return next.startCall(new ChargedCall<>(call, charged), headers);
      }
    };
  }

  /** A call for which its connection may have to pay. */
  private final class ChargedCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private final Predicate<Status.Code> charged;

    ChargedCall(ServerCall<Q, A> call, Predicate<Status.Code> charged) {
      super(call);
      this.charged = charged;
    }

    @Override
    public void close(Status status, Metadata trailers) {
      super.close(status, trailers);
      if (charged.test(status.getCode())) {
        Channel connection = connections.get(InboundCalls.connectionOf(delegate()));
        if (connection != null) {
          connection
              .eventLoop()
              .execute(() -> FrameGuard.chargeCallWithoutKey(connection.pipeline()));
        }
      }
    }
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
    SocketAddress client = connection.remoteAddress();
    ConnectionShares.Place place =
        client == null ? null : places.open(client, () -> end(connection));
    if (place == null) {
      // It belongs to no event loop yet, and so cannot be closed in the ordinary way.
      connection.unsafe().closeForcibly();
      return;
    }
    connections.put(client, connection);
    connection
        .closeFuture()
        .addListener(
            closed -> {
              place.close();
              connections.remove(client, connection);
            });
    connection.pipeline().addLast(new GuardedConnection(guards));
    context.fireChannelRead(connection);
  }

  /** Makes room for another connection. */
  @SuppressWarnings("FutureReturnValueIgnored") // nothing is to be done then
  private static void end(Channel connection) {
    if (connection.isRegistered()) {
      connection.close();
    } else {
      connection.unsafe().closeForcibly();
    }
  }
}
