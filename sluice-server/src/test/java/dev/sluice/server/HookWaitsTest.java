package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.QueueConfig;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.proto.v1.RedriveResponse;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.GrpcServer;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.services.QueueGrpcService;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.http.routes.QueueRoutes;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Enqueue calls that wait for a hook while their key is revoked end, and store nothing; redrives
 * end with their calls.
 */
@Tag("any-jdk")
@Timeout(90)
final class HookWaitsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String KEY = "Bearer tenant";
  private static final int DEAD_LETTERS = 1_000;

  @TempDir Path dir;
  private final CountDownLatch hooksMayRun = new CountDownLatch(1);
  private final ExecutorService workers = Executors.newCachedThreadPool();
  private final ServerMetrics metrics = new ServerMetrics();
  private final OpenStreams streams = new OpenStreams();
  private final CompletableFuture<CompletableFuture<Long>> redrive = new CompletableFuture<>();
  private volatile boolean revoked;
  private Broker broker;
  private RevocationWatcher keys;
  private GrpcServer grpc;
  private HttpServer http;
  private boolean httpClosed;
  private ManagedChannel channel;
  private CompletableFuture<List<UUID>> first;

  private Caller authenticate(@Nullable String authorization) {
    if (revoked || !KEY.equals(authorization)) {
      throw new ApiException(ErrorKind.UNAUTHENTICATED, "a valid key is needed");
    }
    return new Caller("tenant", true, List.of(), ApiKey.NEVER);
  }

  /** The only thread of hooks waits in the first call. */
  private Broker brokerWithAGate() {
    BrokerMetrics gate =
        new BrokerMetrics() {
          @Override
          public void hookWaited(String queue, long nanos) {
            Uninterruptibles.awaitUninterruptibly(hooksMayRun);
          }
        };
    return Broker.open(
        dir.resolve("broker"), BrokerConfig.builder().hookThreads(1).metrics(gate).build());
  }

  private Broker notingRedrives() {
    InvocationHandler handler =
        (proxy, method, arguments) -> {
          Object result = method.invoke(broker, arguments);
          if (method.getName().equals("redriveAsync")) {
            @SuppressWarnings("unchecked") // that is what it returns
            CompletableFuture<Long> moved = (CompletableFuture<Long>) result;
            redrive.complete(moved);
          }
          return result;
        };
    return (Broker)
        Proxy.newProxyInstance(
            Broker.class.getClassLoader(), new Class<?>[] {Broker.class}, handler);
  }

  private static ProtocolListenerConfig anywhere() {
    return new ProtocolListenerConfig(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), TransportConfig.DEFAULTS, null);
  }

  @BeforeEach
  void start() throws Exception {
    broker = brokerWithAGate();
    broker.createQueue(
        "q",
        QueueConfig.defaults().toBuilder()
            .onEnqueue("function on_enqueue(m) return { fairness_key = 'f' } end")
            .build());
    QueueOperations queues =
        new QueueOperations(
            notingRedrives(),
            new QueueAuthorization(broker),
            new AccountQuotas(ApiKeyStore.open(dir)),
            AccountQuotas.openCalls());
    keys = new RevocationWatcher(this::authenticate, InstantSource.system());
    grpc =
        new GrpcServer(
            anywhere(),
            new AccountCallExecutor(new AccountExecutors(4), workers),
            new AuthenticationInterceptor(keys, AccountQuotas.openCalls()),
            new Readiness(() -> {}),
            metrics.requests(),
            List.of(new QueueGrpcService(queues, streams).bindService()));
    grpc.start();
    http =
        new HttpServer(
            anywhere(),
            keys,
            HostHeaderPolicy.of(ServerConfig.defaults(dir)),
            Tracing.OFF,
            metrics.requests(),
            List.of(new QueueRoutes(queues)));
    http.start();
    channel = NettyChannelBuilder.forAddress("127.0.0.1", grpc.port()).usePlaintext().build();
    first = broker.enqueueAll("q", List.of(dev.sluice.broker.Message.of(new byte[1])));
  }

  @AfterEach
  void stop() {
    hooksMayRun.countDown();
    channel.shutdownNow();
    grpc.close(Duration.ZERO);
    if (!httpClosed) {
      http.close(Duration.ZERO);
    }
    broker.close();
    workers.shutdownNow();
  }

  private QueuesGrpc.QueuesStub stub() {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), KEY);
    return QueuesGrpc.newStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private void revokeWhen(int watchedCalls) {
    await().atMost(PATIENCE).until(() -> keys.count() == watchedCalls);
    revoked = true;
    keys.check();
  }

  /**
   * A call of the same queue comes after all that waited: the queue has only this and the first.
   */
  private void requireNothingStored() {
    hooksMayRun.countDown();
    assertThat(first.join()).hasSize(1);
    assertThat(broker.enqueue("q", dev.sluice.broker.Message.of(new byte[1])).join()).isNotNull();
    assertThat(broker.stats("q").depth()).isEqualTo(2);
    assertThat(keys.count()).isZero();
  }

  @Test
  void unaryCall_ofARevokedKey_isNotStored() throws Exception {
    Recorded<EnqueueResponse> answer = new Recorded<>();
    stub()
        .enqueue(
            EnqueueRequest.newBuilder()
                .setQueue("q")
                .addMessages(Message.getDefaultInstance())
                .build(),
            answer);
    revokeWhen(1);
    assertThat(answer.end().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    requireNothingStored();
  }

  /** The stream and each of its batches are watched. */
  @Test
  void batchesOfAStream_ofARevokedKey_areNotStored() throws Exception {
    Recorded<EnqueueStreamResponse> answers = new Recorded<>();
    var batches = stub().enqueueStream(answers);
    for (int i = 0; i < 20; i++) {
      batches.onNext(
          EnqueueStreamRequest.newBuilder()
              .setQueue("q")
              .addMessages(Message.getDefaultInstance())
              .build());
    }
    revokeWhen(21);
    assertThat(answers.end().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    requireNothingStored();
  }

  @Test
  void httpCall_ofARevokedKey_isNotStored() {
    HttpProbe probe = new HttpProbe(http.port());
    CompletableFuture<HttpProbe.Reply> answer =
        probe.sendLater(
            probe
                .request("/v1/queues/q/messages")
                .timeout(PATIENCE)
                .header("Authorization", KEY)
                .POST(BodyPublishers.ofString("{\"payload\":\"x\"}")));
    revokeWhen(1);
    assertThat(answer.join().status()).isEqualTo(401);
    requireNothingStored();
  }

  // ---- redrives

  /** They wait behind the first call for the only thread of hooks. */
  private void storeDeadLetters() {
    var letters = Collections.nCopies(DEAD_LETTERS, dev.sluice.broker.Message.of(new byte[1]));
    assertThat(broker.enqueueAll("q.dlq", letters).join()).hasSize(DEAD_LETTERS);
  }

  private Recorded<RedriveResponse> beginRedrive(QueuesGrpc.QueuesStub stub) {
    storeDeadLetters();
    Recorded<RedriveResponse> answer = new Recorded<>();
    stub.redrive(
        RedriveRequest.newBuilder().setDeadLetterQueue("q.dlq").setRunHook(true).build(), answer);
    await().atMost(PATIENCE).until(() -> keys.count() == 1);
    return answer;
  }

  private HttpRequest.Builder redriveOverHttp(HttpProbe probe) {
    return probe
        .request("/v1/queues/q.dlq/redrive")
        .timeout(PATIENCE)
        .header("Authorization", KEY)
        .POST(BodyPublishers.ofString("{\"run_hook\":true}"));
  }

  /** The messages that were claimed before the end are moved. */
  private void requireRedriveEnded() {
    await().atMost(PATIENCE).until(() -> keys.count() == 0);
    hooksMayRun.countDown();
    assertThat(redrive.join().join()).isLessThanOrEqualTo(500);
    assertThat(broker.stats("q.dlq").depth()).isGreaterThanOrEqualTo(DEAD_LETTERS - 500);
  }

  @Test
  void redriveWhoseClientCancels_ends() {
    Context.CancellableContext client = Context.current().withCancellation();
    client.run(() -> beginRedrive(stub()));
    client.cancel(null);
    requireRedriveEnded();
  }

  @Test
  void redrive_endsWithTheServer() throws Exception {
    Recorded<RedriveResponse> answer = beginRedrive(stub());
    streams.close();
    assertThat(answer.end().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    requireRedriveEnded();
  }

  @Test
  void redriveOverHttpWhoseClientLeaves_ends() throws Exception {
    storeDeadLetters();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), http.port())) {
      String body = "{\"run_hook\":true}";
      String request =
          "POST /v1/queues/q.dlq/redrive HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n"
              .formatted(KEY);
      String rest = "Content-Length: %d\r\n\r\n%s".formatted(body.length(), body);
      client.getOutputStream().write((request + rest).getBytes(StandardCharsets.US_ASCII));
      await().atMost(PATIENCE).until(() -> keys.count() == 1);
    }
    requireRedriveEnded();
  }

  @Test
  void redriveOverHttp_endsWithTheServer() {
    storeDeadLetters();
    HttpProbe probe = new HttpProbe(http.port());
    CompletableFuture<HttpProbe.Reply> answer = probe.sendLater(redriveOverHttp(probe));
    await().atMost(PATIENCE).until(() -> keys.count() == 1);
    httpClosed = true;
    http.close(PATIENCE);
    assertThat(answer.join().status()).isEqualTo(503);
    requireRedriveEnded();
  }

  @Test
  void callOfAValidKey_isStored() throws Exception {
    Recorded<EnqueueResponse> answer = new Recorded<>();
    stub()
        .enqueue(
            EnqueueRequest.newBuilder()
                .setQueue("q")
                .addMessages(Message.getDefaultInstance())
                .build(),
            answer);
    await().atMost(PATIENCE).until(() -> keys.count() == 1);
    keys.check();
    hooksMayRun.countDown();
    assertThat(answer.next().getIdsCount()).isEqualTo(1);
    assertThat(answer.end().isOk()).isTrue();
    await().atMost(PATIENCE).until(() -> keys.count() == 0);
    assertThat(broker.stats("q").depth()).isEqualTo(2);
  }
}
