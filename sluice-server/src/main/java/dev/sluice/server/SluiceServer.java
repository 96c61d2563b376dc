package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.server.RequestMeters.Protocol;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A running server: a broker, limits and the governor behind gRPC and HTTP.
 *
 * @since 0.1
 */
public final class SluiceServer implements AutoCloseable {
  /** How long a call that waits may outlast the expiry of its key, and bad health goes untold. */
  private static final long CHECK_SECONDS = 1;

  /** The threads that handle gRPC calls. */
  private static final int WORKERS = 2 * Runtime.getRuntime().availableProcessors() + 2;

  private final Broker broker;
  private final Governor governor;
  private final LimitApi limits;
  private final GovernorThreads governorThreads;
  private final TicketWaits tickets;
  private final KeyWatches watches;
  private final Reloads reloads = new Reloads();
  private final OpenStreams streams = new OpenStreams();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
  private final Tracing tracing;
  private final @Nullable LiveTls tls;
  private final GrpcServer grpc;
  private final HttpServer http;
  private final Duration drain;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** What is in the data directory, or in Redis. */
  private record Stored(Broker broker, KeyStore keys, LimitApi limits, Governor governor) {
    static Stored open(ServerConfig config, BudgetConfig budgets, ServerMetrics metrics)
        throws IOException {
      BrokerConfig bounded =
          ServerMemory.broker(config.broker(), config.limits().maxRequestBytes());
      Broker broker = Broker.open(config.dataDirectory(), bounded.withMetrics(metrics));
      try {
        KeyStore keys = KeyStore.open(config.dataDirectory());
        LimitApi limits = limits(config, metrics, new Quotas(keys));
        try {
          return new Stored(broker, keys, limits, governor(config, budgets, metrics));
        } catch (RuntimeException failure) {
          limits.close();
          throw failure;
        }
      } catch (IOException | UncheckedIOException unusable) {
        broker.close();
        throw new DataDirectoryException(unusable);
      } catch (RuntimeException failure) {
        broker.close();
        throw failure;
      }
    }

    private static LimitApi limits(ServerConfig config, ServerMetrics metrics, Quotas quotas)
        throws IOException {
      ServerRedis redis = config.redis();
      if (redis == null) {
        return LimitApi.open(config.dataDirectory(), quotas);
      }
      FleetLimits limits = FleetLimits.open(config.dataDirectory(), redis);
      metrics.watch(limits);
      return new LimitApi(limits, quotas);
    }

    private static Governor governor(
        ServerConfig config, BudgetConfig budgets, ServerMetrics metrics) {
      ServerRedis redis = config.redis();
      if (redis == null) {
        return Governor.open(budgets, config.dataDirectory().resolve("governor"));
      }
      GovernorOutages outages = new GovernorOutages(redis.outage());
      metrics.watch(outages);
      return Governor.over(budgets, redis.budgets(outages));
    }

    void close() {
      limits.close();
      governor.close();
      broker.close();
    }
  }

  private SluiceServer(
      ServerConfig config,
      InstantSource clock,
      Stored stored,
      BudgetSource budgets,
      ServerMetrics metrics,
      ListenOptions listen) {
    broker = stored.broker();
    governor = stored.governor();
    limits = stored.limits();
    governorThreads =
        config.redis() == null ? GovernorThreads.ofCallers(workers) : GovernorThreads.ofItsOwn();
    tickets = new TicketWaits(governor, timer, workers, governorThreads);
    drain = config.limits().drain();
    tracing = Tracing.of(config.telemetry());
    GovernorApi models = new GovernorApi(governor, budgets, tickets, governorThreads);
    Share openCalls = Quotas.openCalls();
    QueueApi queues = queues(stored, openCalls);
    AdminApi admin =
        new AdminApi(broker, new AdminApi.ServerInfo(BuildVersion.number(), clock.millis()));
    KeyApi keys = new KeyApi(stored.keys(), clock);
    watches =
        new KeyWatches(new KeyAuthenticator(stored.keys(), clock, config.bootstrapKey()), clock);
    stored.keys().onChange(watches::check);
    Readiness readiness = new Readiness(new ServerWork(broker, governor));
    grpc =
        new GrpcServer(
            listen,
            new CallTurns(new CallShares(WORKERS), workers),
            tracing.around(new Access(watches, openCalls)),
            readiness,
            metrics.requests(),
            List.of(
                new QueueService(queues, streams).bindService(),
                new LimitService(limits, streams).bindService(),
                new GovernorService(models, streams).bindService(),
                new AdminService(admin, keys).bindService(),
                EarlyHeaders.before(new FilaMessages(queues, streams)),
                new FilaAdministration(queues, new ConfigApi(broker, admin), admin, keys)
                    .bindService()));
    http =
        new HttpServer(
            listen.withHttpPort(config.listen()),
            watches,
            HostRule.of(config),
            tracing,
            metrics.requests(),
            List.of(
                new HttpQueues(queues),
                new HttpLimits(limits),
                new HttpGovernor(models),
                new HttpAdmin(admin),
                new HttpKeys(keys),
                new HttpEvents(queues, timer, workers),
                new HttpOperations(queues, metrics, readiness),
                new HttpConsole()));
    tls = listen.tls();
    if (budgets.hasFile()) {
      reloads.register(new ReloadedBudgets(budgets, governor));
    }
    watchFiles(tls);
    watch(metrics, readiness);
  }

  private static QueueApi queues(Stored stored, Share openCalls) {
    QueueAccess access = new QueueAccess(stored.broker());
    return new QueueApi(stored.broker(), access, new Quotas(stored.keys()), openCalls);
  }

  private void watchFiles(@Nullable LiveTls files) {
    if (files != null) {
      reloads.register(files);
      files.watch().start(() -> reloads.run(files));
    }
  }

  private void watch(ServerMetrics metrics, Readiness readiness) {
    metrics.watch(limits.decisions());
    metrics.watch(governor::status);
    metrics.watch(Protocol.GRPC, grpc::openConnections);
    metrics.watch(Protocol.HTTP, http::openConnections);
    everySecond(watches::check);
    everySecond(grpc::checkPace);
    everySecond(readiness::update);
    everySecond(limits::makeRoom);
    everySecond(governor::reopenModels);
  }

  /**
   * Opens the data directory and listens.
   *
   * @param config how the server is set up
   * @return the server, ready
   * @throws IOException if it cannot listen, a file of TLS or of budgets cannot be read, or one of
   *     keys or of limits is damaged
   * @throws IllegalArgumentException if anybody from another machine could call, or a file of TLS
   *     or of budgets does not hold what it should
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
    return start(config, clock, listen -> listen);
  }

  /** Tests listen with less memory or patience. */
  static SluiceServer start(
      ServerConfig config, InstantSource clock, UnaryOperator<ListenOptions> tuned)
      throws IOException {
    InetSocketAddress address = BindAddress.of(config);
    @Nullable LiveTls tls = config.tls() == null ? null : LiveTls.read(config.tls(), clock);
    BindAddress.requireFree(
        address,
        config.listen().hasHttp()
            ? new InetSocketAddress(address.getAddress(), config.listen().httpPort())
            : null);
    BudgetSource budgets = BudgetSource.open(config.governorFile());
    if (config.governorFile() != null) {
      ServerLog.withoutEffect(budgets.current().withoutEffect());
    }
    ServerMetrics metrics = new ServerMetrics();
    Stored stored = Stored.open(config, budgets.current(), metrics);
    metrics.watch(new DataDirectorySpace(config.dataDirectory()));
    ServerLog.unsafeSettings(config, address);
    ServerLog.closedModels(stored.governor().closedModels());
    SluiceServer server;
    try {
      server =
          new SluiceServer(
              config,
              clock,
              stored,
              budgets,
              metrics,
              tuned.apply(new ListenOptions(address, config.limits(), tls)));
    } catch (RuntimeException failure) {
      stored.close();
      throw failure;
    }
    try {
      server.grpc.start();
      if (config.listen().hasHttp()) {
        server.http.start();
      }
    } catch (IOException | RuntimeException failure) {
      server.end();
      throw failure;
    }
    return server;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends with the timer
  private void everySecond(Runnable work) {
    // What throws once would never run again.
    Runnable safely =
        () -> {
          try {
            work.run();
          } catch (RuntimeException failure) {
            ServerLog.failed(failure);
          }
        };
    timer.scheduleWithFixedDelay(safely, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
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
   * @return the port; {@link Listen#OFF} if HTTP is off
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

  /** Requests of HTTP that are being answered. */
  long httpRequests() {
    return http.openRequests();
  }

  /** Calls of gRPC that are being answered. */
  int openCalls() {
    return grpc.openCalls();
  }

  /** Calls that go on until somebody ends them. */
  int openStreams() {
    return streams.count();
  }

  /** Calls that wait for tickets of the governor. */
  int ticketWaits() {
    return tickets.open();
  }

  /** Calls that end with their key. */
  int watchedCalls() {
    return watches.count();
  }

  List<HttpRoute> httpRoutes() {
    return http.routes();
  }

  /**
   * Completes when the store has failed, so that the server cannot work until its process is
   * started again. A full disk is not such a failure.
   *
   * @return completes with the reason; never completes if the server is closed first
   */
  public CompletableFuture<String> failure() {
    return broker.view().failure().thenApply(why -> String.valueOf(why.getMessage()));
  }

  /**
   * Reloads the budget file and the files of TLS, and logs for each what has changed or why it
   * cannot be used. A file that cannot be used changes nothing.
   */
  public void reload() {
    reloads.run();
  }

  /**
   * Refuses new calls, lets those end that are being answered, as long as the limits say, then
   * closes limits, the governor and the broker; what was answered is stored. Does nothing the
   * second time.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    ServerLog.draining();
    end();
    ServerLog.closed();
  }

  private void end() {
    long deadline = System.nanoTime() + drain.toNanos();
    if (tls != null) {
      tls.watch().close();
    }
    grpc.stopAccepting();
    http.stopAccepting();
    streams.close();
    tickets.close();
    grpc.close(drain);
    http.close(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
    limits.close();
    governor.close();
    governorThreads.close();
    broker.close();
    timer.shutdownNow();
    workers.shutdownNow();
    tracing.close();
  }
}
