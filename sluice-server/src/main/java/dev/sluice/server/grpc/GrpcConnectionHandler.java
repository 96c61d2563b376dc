package dev.sluice.server.grpc;

import dev.sluice.server.transport.ConnectionLimiter;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Closes gRPC connections beyond the limit, as {@link ConnectionLimiter} decides, and adds a {@link
 * Http2FloodGuard} to the others, which can be closed by the address of their client. Runs before
 * the handler that accepts them.
 */
final class GrpcConnectionHandler extends ChannelInboundHandlerAdapter {
  private final ConnectionLimiter places;
  private final Supplier<Http2FloodGuard> guards;
  private final Map<SocketAddress, Guarded> connections = new ConcurrentHashMap<>();

  private record Guarded(Channel channel, Http2FloodGuard guard) {}

  GrpcConnectionHandler(int max, Supplier<Http2FloodGuard> guards) {
    this.places = new ConnectionLimiter(max);
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
        SocketAddress client = RequestAdmission.connectionOf(call);
        places.show(client, AuthenticationInterceptor.caller().account());
        Guarded connection = connections.get(client);
        return connection == null
            ? next.startCall(call, headers)
            : startCall(call, headers, next, connection.guard());
      }
    };
  }

  private static <Q, A> ServerCall.Listener<Q> startCall(
      ServerCall<Q, A> call,
      Metadata headers,
      ServerCallHandler<Q, A> next,
      Http2FloodGuard guard) {
    guard.keyShown();
    try {
      return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
        @Override
        public void onCancel() {
          guard.keyEnded();
          super.onCancel();
        }

        @Override
        public void onComplete() {
          guard.keyEnded();
          super.onComplete();
        }
      };
    } catch (RuntimeException | Error failure) {
      guard.keyEnded();
      throw failure;
    }
  }

  /** Closes the connection of the client at {@code address}, if it is open, with a reason. */
  void cut(SocketAddress address, String reason) {
    Guarded connection = connections.get(address);
    if (connection != null) {
      connection.channel().eventLoop().execute(() -> connection.guard().close(reason));
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
    ConnectionLimiter.Slot place =
        client == null ? null : places.open(client, () -> end(connection));
    if (place == null) {
      // It belongs to no event loop yet, and so cannot be closed in the ordinary way.
      connection.unsafe().closeForcibly();
      return;
    }
    Guarded guarded = new Guarded(connection, guards.get());
    connections.put(client, guarded);
    connection
        .closeFuture()
        .addListener(
            closed -> {
              place.close();
              connections.remove(client, guarded);
            });
    connection.pipeline().addLast(new FloodGuardInstaller(guarded.guard()));
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
