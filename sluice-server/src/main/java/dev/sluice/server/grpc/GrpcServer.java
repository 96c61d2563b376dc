package dev.sluice.server.grpc;

import dev.sluice.server.TransportConfig;
import dev.sluice.server.telemetry.RequestMetrics;
import dev.sluice.server.transport.BindAddress;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import dev.sluice.server.transport.ReloadableTls;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.IoHandlerFactory;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.RecvByteBufAllocator;
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
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Answers gRPC: the services given, {@code grpc.health.v1} without a key, and {@code
 * grpc.reflection.v1} to those with a key.
 */
public final class GrpcServer {
  /** The shortest interval between pings of a client; a client that pings more often is cut off. */
  private static final long MIN_PROBE_SECONDS = 10;

  /** The interval of the probes that detect lost clients, in seconds. */
  private static final long PROBE_SECONDS = 60;

  private static final long PROBE_TIMEOUT_SECONDS = 20;
  private static final long MAX_IDLE_MINUTES = 15;

  /** Calls that a client cancels; for those that it has just begun see {@link Http2FloodGuard}. */
  private static final int MAX_RESETS = 10_000;

  private static final int RESET_WINDOW_SECONDS = 5;

  /**
   * The bytes that a client may send on one stream ahead of its reader; fixed, because gRPC would
   * let it grow.
   */
  private static final int WINDOW_BYTES = 256 << 10;

  /** Small reads, so that no connection keeps its thread from the others for long. */
  private static final int READ_BYTES = 16 << 10;

  private static final int READS_IN_A_ROW = 4;

  /** The calls that may have begun and wait for a thread. */
  private static final int MAX_UNSEEN_CALLS = 1_000;

  /** Refuses compressed requests: a kilobyte could become gigabytes before it is counted. */
  private static final DecompressorRegistry UNCOMPRESSED =
      DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false);

  /** The time to send the remaining responses after the drain timeout. */
  private static final long LAST_WORDS_MS = 250;

  /**
   * It tells of every broken connection and every oversized request, with a stack trace. Held, for
   * its level is forgotten otherwise.
   */
  private static final Logger TRANSPORT_LOG =
      Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty");

  private final InetSocketAddress address;
  private final Server server;
  private final Readiness readiness;
  private final HealthService health = new HealthService();
  private final OpenCallCounter calls = new OpenCallCounter();
  private final GrpcConnectionHandler connections;
  private final RequestAdmission inbound;
  private final EventLoopGroup acceptor = loops(1);
  private final EventLoopGroup loops = loops(0);

  public GrpcServer(
      ProtocolListenerConfig listen,
      AccountCallExecutor turns,
      ServerInterceptor access,
      Readiness readiness,
      RequestMetrics meters,
      List<ServerServiceDefinition> services) {
    if (TRANSPORT_LOG.getLevel() == null) {
      TRANSPORT_LOG.setLevel(Level.SEVERE);
    }
    this.address = listen.address();
    this.readiness = readiness;
    readiness.onUpdate(health::tell);
    PendingCallLimiter gate = new PendingCallLimiter(MAX_UNSEEN_CALLS);
    this.connections =
        new GrpcConnectionHandler(
            MemoryBudgets.connections(listen.limits()),
            () -> new Http2FloodGuard(gate, listen.memory().unread()));
    this.inbound = new RequestAdmission(listen.memory(), listen.pace(), gate);
    GrpcMetricsTracer counted = new GrpcMetricsTracer(meters);
    NettyServerBuilder builder =
        builder(listen)
            .executor(turns.pool())
            .callExecutor(turns)
            .addStreamTracerFactory(counted)
            .addStreamTracerFactory(inbound);
    // The last interceptor is the first one called.
    ServerInterceptor callers = inbound.ofCallers();
    ServerInterceptor answers =
        new ResponseMemoryInterceptor(
            listen.memory().answers(), client -> connections.cut(client, "answers_not_read"));
    ServerInterceptor known = connections.ofCallers();
    services.forEach(
        service ->
            builder.addService(around(service, answers, callers, turns, calls, known, access)));
    server =
        builder
            .fallbackHandlerRegistry(new UnknownMethodRegistry())
            .addService(
                around(
                    ProtoReflectionServiceV1.newInstance().bindService(),
                    answers,
                    callers,
                    turns,
                    known,
                    access))
            .addService(
                around(health.bindService(), inbound.ofStrangers(), new HealthCallLimiter()))
            .build();
    counted.know(server.getServices());
  }

  private static ServerServiceDefinition around(
      ServerServiceDefinition service, ServerInterceptor... interceptors) {
    return ServerInterceptors.intercept(StrictRequestMarshaller.only(service), interceptors);
  }

  private NettyServerBuilder builder(ProtocolListenerConfig listen) {
    TransportConfig limits = listen.limits();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(listen.address())
            .channelFactory(this::channel)
            .bossEventLoopGroup(acceptor)
            .workerEventLoopGroup(loops)
            .withChildOption(ChannelOption.RECVBUF_ALLOCATOR, reads())
            .flowControlWindow(WINDOW_BYTES)
            .decompressorRegistry(UNCOMPRESSED)
            .maxInboundMessageSize(limits.maxRequestBytes())
            .maxInboundMetadataSize(limits.maxHeaderBytes())
            .maxConcurrentCallsPerConnection(limits.maxStreamsPerConnection())
            .maxRstFramesPerWindow(MAX_RESETS, RESET_WINDOW_SECONDS)
            .handshakeTimeout(listen.handshake().toMillis(), TimeUnit.MILLISECONDS)
            .permitKeepAliveTime(MIN_PROBE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .keepAliveTime(PROBE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(PROBE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .maxConnectionIdle(MAX_IDLE_MINUTES, TimeUnit.MINUTES);
    ReloadableTls tls = listen.tls();
    return tls == null ? builder : builder.sslContext(tls.grpc());
  }

  private static RecvByteBufAllocator reads() {
    return new AdaptiveRecvByteBufAllocator(1 << 10, 2 << 10, READ_BYTES)
        .maxMessagesPerRead(READS_IN_A_ROW);
  }

  private ServerChannel channel() {
    ServerChannel channel =
        Epoll.isAvailable() ? new EpollServerSocketChannel() : new NioServerSocketChannel();
    channel.pipeline().addLast(connections);
    return channel;
  }

  /** Creates event loops; 0 threads stand for the number of processors. */
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
  public void start() throws IOException {
    try {
      server.start();
    } catch (IOException failure) {
      throw BindAddress.cannotListen("gRPC", address, failure);
    }
    health.know(
        server.getServices().stream().map(each -> each.getServiceDescriptor().getName()).toList());
    readiness.update();
  }

  public int port() {
    return server.getPort();
  }

  /** Calls that are being answered. */
  public int openCalls() {
    return calls.count();
  }

  /** Refuses requests that arrive too slowly; to be called about once a second. */
  public void checkPace() {
    inbound.checkPace();
  }

  public int openConnections() {
    return connections.open();
  }

  /** Refuses calls from now on, but for those that ask for health. */
  public void stopAccepting() {
    readiness.close();
    calls.refuse();
  }

  /** Waits for calls that go on, and ends those that take longer. */
  public @SuppressWarnings("FutureReturnValueIgnored") // threads end by themselves, soon
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
