package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKeyAuthenticator;
import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.fila.FilaAdminService;
import dev.sluice.server.fila.FilaConfigOperations;
import dev.sluice.server.fila.FilaMessageService;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.EarlyHeadersInterceptor;
import dev.sluice.server.grpc.GrpcServer;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.TracingInterceptor;
import dev.sluice.server.grpc.services.AdminGrpcService;
import dev.sluice.server.grpc.services.GovernorGrpcService;
import dev.sluice.server.grpc.services.LimitGrpcService;
import dev.sluice.server.grpc.services.QueueGrpcService;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.http.routes.AdminRoutes;
import dev.sluice.server.http.routes.ApiKeyRoutes;
import dev.sluice.server.http.routes.ConsoleRoutes;
import dev.sluice.server.http.routes.GovernorRoutes;
import dev.sluice.server.http.routes.LimitRoutes;
import dev.sluice.server.http.routes.MonitoringRoutes;
import dev.sluice.server.http.routes.QueueEventRoutes;
import dev.sluice.server.http.routes.QueueRoutes;
import dev.sluice.server.operations.AdminOperations;
import dev.sluice.server.operations.BudgetFileSource;
import dev.sluice.server.operations.GovernorCalls;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.operations.GovernorOutageMonitor;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.operations.ReloadableBudgets;
import dev.sluice.server.operations.SharedLimitBackend;
import dev.sluice.server.operations.TicketWaiters;
import dev.sluice.server.support.BuildVersion;
import dev.sluice.server.support.FileReloader;
import dev.sluice.server.support.LifecycleLog;
import dev.sluice.server.telemetry.DataDirectoryUsage;
import dev.sluice.server.telemetry.RequestMetrics.Protocol;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.BindAddress;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import dev.sluice.server.transport.ReloadableTls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
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
  /** The interval of the checks of key expiry and health, in seconds. */
  private static final long CHECK_SECONDS = 1;

  /** The threads that handle gRPC calls. */
  private static final int WORKERS = 2 * Runtime.getRuntime().availableProcessors() + 2;

  private final Broker broker;
  private final Governor governor;
  private final LimitOperations limits;
  private final TicketWaiters tickets;
  private final RevocationWatcher watches;
  private final FileReloader reloads = new FileReloader();
  private final OpenStreams streams = new OpenStreams();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final ThreadPoolExecutor workers =
      (ThreadPoolExecutor) Executors.newFixedThreadPool(WORKERS);
  private final Tracing tracing;
  private final @Nullable ReloadableTls tls;
  private final GrpcServer grpc;
  private final HttpServer http;
  private final Duration drain;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Stores of queues, limits, API keys and budgets, in the data directory or in Redis. */
  private record Stored(
      Broker broker, ApiKeyStore keys, LimitOperations limits, Governor governor) {
    static Stored open(ServerConfig config, BudgetConfig budgets, ServerMetrics metrics)
        throws IOException {
      BrokerConfig bounded =
          MemoryBudgets.broker(config.broker(), config.limits().maxRequestBytes());
      Broker broker =
          Broker.open(config.dataDirectory(), bounded.toBuilder().metrics(metrics).build());
      try {
        ApiKeyStore keys = ApiKeyStore.open(config.dataDirectory());
        LimitOperations limits = limits(config, metrics, new AccountQuotas(keys));
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

    private static LimitOperations limits(
        ServerConfig config, ServerMetrics metrics, AccountQuotas quotas) throws IOException {
      RedisConfig redis = config.redis();
      if (redis == null) {
        return LimitOperations.open(config.dataDirectory(), quotas);
      }
      SharedLimitBackend limits = SharedLimitBackend.open(config.dataDirectory(), redis);
      metrics.watch(limits);
      return new LimitOperations(limits, quotas);
    }

    private static Governor governor(
        ServerConfig config, BudgetConfig budgets, ServerMetrics metrics) {
      RedisConfig redis = config.redis();
      if (redis == null) {
        return Governor.open(budgets, config.dataDirectory().resolve("governor"));
      }
      GovernorOutageMonitor outages = new GovernorOutageMonitor(redis.outage());
      metrics.watch(outages);
      return Governor.builder(budgets).store(redis.budgets(outages)).build();
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
      BudgetFileSource budgets,
      ServerMetrics metrics,
      ProtocolListenerConfig listen) {
    broker = stored.broker();
    governor = stored.governor();
    limits = stored.limits();
    GovernorCalls governorCalls = new GovernorCalls(workers);
    tickets = new TicketWaiters(governor, timer, governorCalls);
    drain = config.limits().drain();
    tracing = Tracing.of(config.telemetry());
    GovernorOperations models = new GovernorOperations(governor, budgets, tickets, governorCalls);
    ConcurrencyQuota openCalls = AccountQuotas.openCalls();
    QueueOperations queues = queues(stored, openCalls);
    AdminOperations admin =
        new AdminOperations(
            broker, new AdminOperations.ServerInfo(BuildVersion.number(), clock.millis()));
    ApiKeyOperations keys = new ApiKeyOperations(stored.keys(), clock);
    watches =
        new RevocationWatcher(
            new ApiKeyAuthenticator(stored.keys(), clock, config.bootstrapKey()), clock);
    stored.keys().onChange(watches::check);
    Readiness readiness = new Readiness(new ServerHealth(broker, governor));
    grpc =
        new GrpcServer(
            listen,
            new AccountCallExecutor(new AccountExecutors(WORKERS), workers),
            TracingInterceptor.around(new AuthenticationInterceptor(watches, openCalls), tracing),
            readiness,
            metrics.requests(),
            List.of(
                new QueueGrpcService(queues, streams).bindService(),
                new LimitGrpcService(limits, streams).bindService(),
                new GovernorGrpcService(models, streams).bindService(),
                new AdminGrpcService(admin, keys).bindService(),
                EarlyHeadersInterceptor.before(new FilaMessageService(queues, streams)),
                new FilaAdminService(
                        queues, new FilaConfigOperations(broker, admin), admin, keys, streams)
                    .bindService()));
    http =
        new HttpServer(
            listen.withHttpPort(config.listen()),
            watches,
            HostHeaderPolicy.of(config),
            tracing,
            metrics.requests(),
            List.of(
                new QueueRoutes(queues),
                new LimitRoutes(limits),
                new GovernorRoutes(models),
                new AdminRoutes(admin),
                new ApiKeyRoutes(keys),
                new QueueEventRoutes(queues, timer, workers),
                new MonitoringRoutes(queues, metrics, readiness),
                new ConsoleRoutes()));
    tls = listen.tls();
    if (budgets.hasFile()) {
      reloads.register(new ReloadableBudgets(budgets, governor));
    }
    watchFiles(tls);
    watch(metrics, readiness);
  }

  private static QueueOperations queues(Stored stored, ConcurrencyQuota openCalls) {
    QueueAuthorization access = new QueueAuthorization(stored.broker());
    return new QueueOperations(
        stored.broker(), access, new AccountQuotas(stored.keys()), openCalls);
  }

  private void watchFiles(@Nullable ReloadableTls files) {
    if (files != null) {
      reloads.register(files);
      files.watch().start(() -> reloads.run(files));
    }
  }

  private void watch(ServerMetrics metrics, Readiness readiness) {
    metrics.watch(limits.decisions());
    metrics.watch(governor.blocking()::status);
    metrics.watch(Protocol.GRPC, grpc::openConnections);
    metrics.watch(Protocol.HTTP, http::openConnections);
    everySecond(watches::check);
    everySecond(grpc::checkPace);
    everySecond(readiness::update);
    everySecond(limits::makeRoom);
  }

  /**
   * Opens the data directory and listens.
   *
   * @param config how the server is set up
   * @return the server, ready
   * @throws IOException if it cannot listen, a file of TLS or of budgets cannot be read, or one of
   *     keys or of limits is damaged
   * @throws IllegalArgumentException if unauthenticated callers of other machines could call, or a
   *     file of TLS or of budgets does not hold what it should
   */
  public static SluiceServer start(ServerConfig config) throws IOException {
    LifecycleLog.starting(config);
    try {
      SluiceServer server = start(config, InstantSource.system());
      LifecycleLog.ready(server.grpcPort(), server.httpPort());
      return server;
    } catch (IOException | RuntimeException refused) {
      LifecycleLog.refused(refused);
      throw refused;
    }
  }

  /** The clock is the one that keys expire by. */
  static SluiceServer start(ServerConfig config, InstantSource clock) throws IOException {
    return start(config, clock, listen -> listen);
  }

  /** Tests listen with less memory or patience. */
  static SluiceServer start(
      ServerConfig config, InstantSource clock, UnaryOperator<ProtocolListenerConfig> tuned)
      throws IOException {
    InetSocketAddress address = BindAddress.of(config);
    @Nullable ReloadableTls tls =
        config.tls() == null ? null : ReloadableTls.read(config.tls(), clock);
    BindAddress.requireFree(
        address,
        config.listen().hasHttp()
            ? new InetSocketAddress(address.getAddress(), config.listen().httpPort())
            : null);
    BudgetFileSource budgets = BudgetFileSource.open(config.governorFile());
    if (config.governorFile() != null) {
      LifecycleLog.withoutEffect(budgets.current().ignoredKeys());
    }
    ServerMetrics metrics = new ServerMetrics();
    Stored stored = Stored.open(config, budgets.current(), metrics);
    metrics.watch(new DataDirectoryUsage(config.dataDirectory()));
    LifecycleLog.unsafeSettings(config, address);
    LifecycleLog.closedModels(stored.governor().closedModels());
    SluiceServer server;
    try {
      server =
          new SluiceServer(
              config,
              clock,
              stored,
              budgets,
              metrics,
              tuned.apply(new ProtocolListenerConfig(address, config.limits(), tls)));
    } catch (RuntimeException failure) {
      stored.close();
      throw failure;
    }
    try {
      // Now: a thread that the system refuses later would lose a call.
      server.workers.prestartAllCoreThreads();
      server.grpc.start();
      if (config.listen().hasHttp()) {
        server.http.start();
      }
    } catch (IOException | RuntimeException | Error failure) {
      server.end();
      throw failure;
    }
    return server;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends with the timer
  private void everySecond(Runnable work) {
    // A scheduled task that throws once is never run again.
    Runnable safely =
        () -> {
          try {
            work.run();
          } catch (RuntimeException failure) {
            LifecycleLog.failed(failure);
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
   * @return the port; {@link ListenConfig#OFF} if HTTP is off
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

  /** Returns the number of open calls without an end of their own. */
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
   * closes limits, the governor and the broker; all answered requests are stored. Does nothing the
   * second time.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    LifecycleLog.draining();
    end();
    LifecycleLog.closed();
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
    broker.close();
    timer.shutdownNow();
    workers.shutdownNow();
    tracing.close();
  }
}
