package dev.sluice.server;

import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.IoHandlerFactory;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Answers gRPC: the services given, {@code grpc.health.v1} to whoever asks, and {@code
 * grpc.reflection.v1} to those with a key.
 */
final class GrpcServer {
  /** Clients may probe the connection as often; those that do it more often are cut off. */
  private static final long MIN_PROBE_SECONDS = 10;

  /** How soon the server finds out that a client is gone without a word. */
  private static final long PROBE_SECONDS = 60;

  private static final long PROBE_TIMEOUT_SECONDS = 20;
  private static final long MAX_IDLE_MINUTES = 15;
  private static final long HANDSHAKE_SECONDS = 20;

  /** Calls that a client begins and cancels at once, against floods of them. */
  private static final int MAX_RESETS = 1_000;

  private static final int RESET_WINDOW_SECONDS = 5;

  /** What is left to be sent when the time is over. */
  private static final long LAST_WORDS_MS = 250;

  /**
   * It tells of every broken connection and every oversized request, with a stack trace. Held, for
   * its level is forgotten otherwise.
   */
  private static final Logger TRANSPORT_LOG =
      Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty");

  static {
    if (TRANSPORT_LOG.getLevel() == null) {
      TRANSPORT_LOG.setLevel(Level.SEVERE);
    }
  }

  private final InetSocketAddress address;
  private final Server server;
  private final Readiness readiness;
  private final OpenCalls calls = new OpenCalls();
  private final ConnectionLimit connections;
  private final EventLoopGroup acceptor = loops(1);
  private final EventLoopGroup loops = loops(0);

  GrpcServer(
      ListenOptions listen,
      Executor workers,
      ServerInterceptor access,
      Readiness readiness,
      RequestMeters meters,
      List<ServerServiceDefinition> services) {
    this.address = listen.address();
    this.readiness = readiness;
    this.connections = new ConnectionLimit(listen.limits().maxConnections());
    CountedCalls counted = new CountedCalls(meters);
    InboundCalls inbound = new InboundCalls(listen.memory().inbound());
    NettyServerBuilder builder =
        builder(listen)
            .executor(workers)
            .addStreamTracerFactory(counted)
            .addStreamTracerFactory(inbound);
    services.forEach(
        service ->
            builder.addService(
                ServerInterceptors.intercept(
                    ProperRequests.only(service), inbound, access, calls)));
    server =
        builder
            .addService(
                ServerInterceptors.intercept(
                    ProperRequests.only(ProtoReflectionServiceV1.newInstance().bindService()),
                    inbound,
                    access))
            .addService(
                ServerInterceptors.intercept(
                    ProperRequests.only(readiness.service().bindService()), inbound))
            .build();
    counted.know(server.getServices());
  }

  private NettyServerBuilder builder(ListenOptions listen) {
    ServerLimits limits = listen.limits();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(listen.address())
            .channelFactory(this::channel)
            .bossEventLoopGroup(acceptor)
            .workerEventLoopGroup(loops)
            .maxInboundMessageSize(limits.maxRequestBytes())
            .maxInboundMetadataSize(limits.maxHeaderBytes())
            .maxConcurrentCallsPerConnection(limits.maxStreamsPerConnection())
            .maxRstFramesPerWindow(MAX_RESETS, RESET_WINDOW_SECONDS)
            .handshakeTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(MIN_PROBE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .keepAliveTime(PROBE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(PROBE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .maxConnectionIdle(MAX_IDLE_MINUTES, TimeUnit.MINUTES);
    return listen.tls() == null ? builder : builder.sslContext(listen.tls().grpc());
  }

  private ServerChannel channel() {
    ServerChannel channel =
        Epoll.isAvailable() ? new EpollServerSocketChannel() : new NioServerSocketChannel();
    channel.pipeline().addLast(connections);
    return channel;
  }

  /** As many threads as there are processors, for zero. */
  private static EventLoopGroup loops(int threads) {
    IoHandlerFactory io =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    int count = threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
    return new MultiThreadIoEventLoopGroup(count, io);
  }

  /**
   * Listens.
   *
   * @throws IOException if it cannot
   */
  void start() throws IOException {
    try {
      server.start();
    } catch (IOException failure) {
      throw BindAddress.cannotListen("gRPC", address, failure);
    }
    readiness.begin(
        server.getServices().stream().map(each -> each.getServiceDescriptor().getName()).toList());
  }

  int port() {
    return server.getPort();
  }

  /** Calls that are being answered. */
  int openCalls() {
    return calls.count();
  }

  int openConnections() {
    return connections.open();
  }

  /** Refuses calls from now on, but for those that ask for health. */
  void stopAccepting() {
    readiness.close();
    calls.refuse();
  }

  /** Waits for calls that go on, and ends those that take longer. */
  @SuppressWarnings("FutureReturnValueIgnored") // threads end by themselves, soon
  void close(Duration drain) {
    calls.refuse();
    try {
      calls.awaitNone(drain.toNanos());
      server.shutdown();
      if (!server.awaitTermination(LAST_WORDS_MS, TimeUnit.MILLISECONDS)) {
        server.shutdownNow();
        server.awaitTermination(LAST_WORDS_MS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    } finally {
      server.shutdownNow();
      acceptor.shutdownGracefully(0, 1, TimeUnit.SECONDS);
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }
}
