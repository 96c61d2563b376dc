package dev.sluice.server;

import dev.sluice.Throttle;
import dev.sluice.broker.Broker;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A running server: a broker and limits behind gRPC and HTTP.
 *
 * @since 0.1
 */
public final class SluiceServer implements AutoCloseable {
  /** How long a stream may outlast its key, and bad health goes untold. */
  private static final long CHECK_SECONDS = 1;

  private final Broker broker;
  private final GrpcServer grpc;
  private final OpenStreams streams;
  private final HttpServer http;
  private final ExecutorService workers;
  private final ScheduledExecutorService timer;
  private final Duration drain;
  private final AtomicBoolean closed = new AtomicBoolean();

  private SluiceServer(
      Broker broker,
      GrpcServer grpc,
      OpenStreams streams,
      HttpServer http,
      ExecutorService workers,
      ScheduledExecutorService timer,
      Duration drain) {
    this.broker = broker;
    this.grpc = grpc;
    this.streams = streams;
    this.http = http;
    this.workers = workers;
    this.timer = timer;
    this.drain = drain;
  }

  /**
   * Opens the data directory and listens.
   *
   * @param config how the server is set up
   * @return the server, ready
   * @throws IOException if it cannot listen, a file of TLS cannot be read, or that of keys is
   *     damaged
   * @throws IllegalArgumentException if anybody from another machine could call, or a file of TLS
   *     does not hold what it should
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
    @Nullable TlsMaterial tls = config.tls() == null ? null : TlsMaterial.read(config.tls());
    ServerMetrics metrics = new ServerMetrics();
    Broker broker = Broker.open(config.dataDirectory(), config.broker().withMetrics(metrics));
    KeyStore keys;
    try {
      keys = KeyStore.open(config.dataDirectory());
    } catch (IOException | RuntimeException failure) {
      broker.close();
      throw failure;
    }
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    ExecutorService workers =
        Executors.newFixedThreadPool(2 * Runtime.getRuntime().availableProcessors() + 2);
    QueueApi queues = new QueueApi(broker, timer);
    OpenStreams streams = new OpenStreams();
    LimitApi limits = new LimitApi(Throttle.create());
    AdminApi admin =
        new AdminApi(broker, new AdminApi.ServerInfo(BuildVersion.number(), clock.millis()));
    KeyApi keyApi = new KeyApi(keys, clock);
    Access.Authenticator authenticator = new KeyAuthenticator(keys, clock, config.bootstrapKey());
    Access access = new Access(authenticator);
    Readiness readiness = new Readiness(broker::throttles);
    everySecond(timer, access::checkStreams);
    everySecond(timer, readiness::update);
    GrpcServer grpc =
        new GrpcServer(
            new GrpcServer.Socket(address, config.limits(), tls),
            workers,
            access,
            readiness,
            List.of(
                new QueueService(queues, streams).bindService(),
                new LimitService(limits, streams).bindService(),
                new AdminService(admin, keyApi).bindService(),
                EarlyHeaders.before(new FilaMessages(queues, streams)),
                new FilaAdministration(queues, new ConfigApi(broker, admin), admin, keyApi)
                    .bindService()));
    HttpServer http =
        new HttpServer(
            new InetSocketAddress(address.getAddress(), config.listen().httpPort()),
            authenticator,
            List.of(
                new HttpQueues(queues),
                new HttpLimits(limits),
                new HttpEvents(queues, timer, workers),
                new HttpOperations(queues, metrics, readiness::require)),
            config.limits(),
            tls);
    SluiceServer server =
        new SluiceServer(broker, grpc, streams, http, workers, timer, config.limits().drain());
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
  private static void everySecond(ScheduledExecutorService timer, Runnable check) {
    timer.scheduleWithFixedDelay(check, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
  }

  /**
   * Where gRPC listens.
   *
   * @return the port
   */
  public int grpcPort() {
    return grpc.port();
  }

  /**
   * Where HTTP listens.
   *
   * @return the port
   */
  public int httpPort() {
    return http.port();
  }

  int grpcConnections() {
    return grpc.openConnections();
  }

  long httpConnections() {
    return http.openConnections();
  }

  /** Calls of gRPC that are being answered. */
  int openCalls() {
    return grpc.openCalls();
  }

  /** Calls that go on until somebody ends them. */
  int openStreams() {
    return streams.count();
  }

  List<HttpRoute> httpRoutes() {
    return http.routes();
  }

  /**
   * Refuses new calls, lets those end that are being answered, as long as the limits say, then
   * closes the broker; what was answered is stored. Does nothing the second time.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    ServerLog.draining();
    long deadline = System.nanoTime() + drain.toNanos();
    grpc.stopAccepting();
    http.stopAccepting();
    streams.close();
    grpc.close(drain);
    http.close(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
    broker.close();
    timer.shutdownNow();
    workers.shutdownNow();
    ServerLog.closed();
  }
}
