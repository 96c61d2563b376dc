package dev.sluice.server;

import dev.sluice.broker.Broker;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A running server: a broker and limits behind gRPC and HTTP.
 *
 * @since 0.1
 */
public final class SluiceServer implements AutoCloseable {
  private static final long DRAIN_SECONDS = 10;

  private final Broker broker;
  private final Server grpc;
  private final OpenStreams streams;
  private final HttpServer http;
  private final Tracing tracing;
  private final ExecutorService workers;
  private final ScheduledExecutorService timer;

  private SluiceServer(
      Broker broker,
      Server grpc,
      OpenStreams streams,
      HttpServer http,
      Tracing tracing,
      ExecutorService workers,
      ScheduledExecutorService timer) {
    this.broker = broker;
    this.grpc = grpc;
    this.streams = streams;
    this.http = http;
    this.tracing = tracing;
    this.workers = workers;
    this.timer = timer;
  }

  /**
   * Opens the data directory and listens.
   *
   * @param config how the server is set up
   * @return the server, ready
   * @throws IOException if it cannot listen, or the file of keys or of limits is damaged
   * @throws IllegalArgumentException if others than this machine could call, and without a key
   */
  public static SluiceServer start(ServerConfig config) throws IOException {
    ServerLog.starting(config);
    try {
      SluiceServer server = start(config, InstantSource.system());
      ServerLog.ready(server);
      return server;
    } catch (IOException | RuntimeException refused) {
      ServerLog.refused(refused);
      throw refused;
    }
  }

  /** The clock is the one that keys expire by. */
  static SluiceServer start(ServerConfig config, InstantSource clock) throws IOException {
    InetSocketAddress address = BindAddress.of(config);
    ServerMetrics metrics = new ServerMetrics();
    Broker broker = Broker.open(config.dataDirectory(), config.broker().withMetrics(metrics));
    KeyStore keys;
    LimitApi limits;
    try {
      keys = KeyStore.open(config.dataDirectory());
      limits = LimitApi.open(config.dataDirectory());
    } catch (IOException | RuntimeException failure) {
      broker.close();
      throw failure;
    }
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    ExecutorService workers =
        Executors.newFixedThreadPool(2 * Runtime.getRuntime().availableProcessors() + 2);
    QueueApi queues = new QueueApi(broker, timer);
    OpenStreams streams = new OpenStreams();
    AdminApi admin =
        new AdminApi(broker, new AdminApi.ServerInfo(BuildVersion.number(), clock.millis()));
    KeyApi keyApi = new KeyApi(keys, clock);
    Access.Authenticator authenticator = new KeyAuthenticator(keys, clock, config.bootstrapKey());
    Access access = new Access(authenticator);
    everySecond(timer, access::checkStreams);
    everySecond(timer, limits::makeRoom);
    Tracing tracing = Tracing.of(config.telemetry());
    Server grpc =
        NettyServerBuilder.forAddress(address)
            .executor(workers)
            .intercept(tracing.around(access))
            .addService(new QueueService(queues, streams))
            .addService(new LimitService(limits))
            .addService(new AdminService(admin, keyApi))
            .addService(EarlyHeaders.before(new FilaMessages(queues, streams)))
            .addService(new FilaAdministration(queues, new ConfigApi(broker, admin), admin, keyApi))
            .build();
    HttpServer http =
        new HttpServer(
            new InetSocketAddress(address.getAddress(), config.listen().httpPort()),
            authenticator,
            tracing,
            List.of(
                new HttpQueues(queues),
                new HttpLimits(limits),
                new HttpAdmin(admin),
                new HttpKeys(keyApi),
                new HttpEvents(queues, timer, workers),
                new HttpOperations(queues, metrics, broker::throttles)));
    SluiceServer server = new SluiceServer(broker, grpc, streams, http, tracing, workers, timer);
    try {
      grpc.start();
      http.start();
    } catch (IOException | RuntimeException failure) {
      server.close();
      throw failure;
    }
    return server;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends with the timer
  private static void everySecond(ScheduledExecutorService timer, Runnable work) {
    timer.scheduleWithFixedDelay(work, 1, 1, TimeUnit.SECONDS);
  }

  /**
   * Where gRPC listens.
   *
   * @return the port
   */
  public int grpcPort() {
    return grpc.getPort();
  }

  /**
   * Where HTTP listens.
   *
   * @return the port
   */
  public int httpPort() {
    return http.port();
  }

  List<HttpRoute> httpRoutes() {
    return http.routes();
  }

  /** Ends calls, then the broker; what was answered is stored. */
  @Override
  public void close() {
    ServerLog.draining();
    grpc.shutdown();
    streams.close();
    http.close();
    try {
      if (!grpc.awaitTermination(DRAIN_SECONDS, TimeUnit.SECONDS)) {
        grpc.shutdownNow();
      }
    } catch (InterruptedException now) {
      grpc.shutdownNow();
      Thread.currentThread().interrupt();
    }
    broker.close();
    timer.shutdownNow();
    workers.shutdownNow();
    tracing.close();
    ServerLog.closed();
  }
}
