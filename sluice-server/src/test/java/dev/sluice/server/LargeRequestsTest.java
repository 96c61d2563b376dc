package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.SettleResponse;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.GrpcServer;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import dev.sluice.server.transport.RequestTurns;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Large gRPC requests of one account are parsed and answered one at a time. */
@Tag("any-jdk")
@Timeout(60)
final class LargeRequestsTest {
  private static final String EVIL = "evil";
  private static final String GOOD = "good";
  private static final int LARGE = RequestTurns.BYTES_AT_ONCE;

  /** Each request is slower than that, but it is looked at only when a test says so. */
  private static final MinimumTransferRate FAST =
      new MinimumTransferRate(Duration.ofNanos(1), 1 << 30);

  private final MemoryBudgets memory = MemoryBudgets.ofHeap();
  private final ExecutorService workers = Executors.newFixedThreadPool(4);
  private final AccountExecutors shares = new AccountExecutors(4);
  private final RevocationWatcher keys =
      new RevocationWatcher(this::authenticate, InstantSource.system());
  private final Map<String, StreamObserver<SettleResponse>> executed = new ConcurrentHashMap<>();
  private final List<String> enqueued = new CopyOnWriteArrayList<>();
  private volatile @Nullable String revoked;
  private GrpcServer server;
  private ManagedChannel channel;

  /** The account is the first word of the header. */
  private Caller authenticate(@Nullable String authorization) {
    String given = String.valueOf(authorization);
    if (given.equals(revoked)) {
      throw new ApiException(ErrorKind.UNAUTHENTICATED, "the key was revoked");
    }
    return new Caller(given.split(" ", 2)[0], true, List.of(), ApiKey.NEVER);
  }

  /** Answers settlements when a test says so, and holds no thread meanwhile. */
  private final class Held extends QueuesGrpc.QueuesImplBase {
    @Override
    public void settle(SettleRequest request, StreamObserver<SettleResponse> call) {
      executed.put(name(request.getQueue()), call);
    }

    /** Goes on without its request, and is never answered. */
    @Override
    public void enqueue(EnqueueRequest request, StreamObserver<EnqueueResponse> call) {
      enqueued.add(name(request.getQueue()));
      RequestAdmission.parsed();
    }

    @Override
    public StreamObserver<EnqueueStreamRequest> enqueueStream(
        StreamObserver<EnqueueStreamResponse> call) {
      return new StreamObserver<>() {
        @Override
        public void onNext(EnqueueStreamRequest request) {
          enqueued.add(name(request.getQueue()));
        }

        @Override
        public void onError(Throwable gone) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  @BeforeEach
  void start() throws Exception {
    server =
        new GrpcServer(
            new ProtocolListenerConfig(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    TransportConfig.DEFAULTS,
                    null)
                .withMemory(memory)
                .withPace(FAST),
            new AccountCallExecutor(shares, workers),
            new AuthenticationInterceptor(keys, AccountQuotas.openCalls()),
            new Readiness(() -> {}),
            new ServerMetrics().requests(),
            List.of(new Held().bindService()));
    server.start();
    channel = connect();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.close(Duration.ZERO);
    workers.shutdownNow();
  }

  private ManagedChannel connect() {
    return NettyChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext().build();
  }

  private static QueuesGrpc.QueuesStub of(String key, ManagedChannel channel) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), key);
    return QueuesGrpc.newStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  /** A long name of a queue that begins with {@code name}. */
  private static String large(String name) {
    return name + "/" + "x".repeat(LARGE);
  }

  private static String name(String queue) {
    return queue.split("/", 2)[0];
  }

  private static SettleRequest request(String queue) {
    return SettleRequest.newBuilder().setQueue(queue).build();
  }

  private Recorded<SettleResponse> settle(String key, String queue) {
    return settle(key, queue, channel);
  }

  private static Recorded<SettleResponse> settle(String key, String queue, ManagedChannel channel) {
    Recorded<SettleResponse> answer = new Recorded<>();
    of(key, channel).settle(request(queue), answer);
    return answer;
  }

  private void awaitExecuted(String... names) {
    await().until(() -> executed.keySet().equals(Set.of(names)));
  }

  private void answer(String name) {
    StreamObserver<SettleResponse> call = executed.get(name);
    assertThat(call).isNotNull();
    call.onNext(SettleResponse.getDefaultInstance());
    call.onCompleted();
  }

  /** Waits for so many calls, and streams, that end with their key: unary calls that wait. */
  private void awaitWaiting(int calls) {
    await().until(() -> keys.count() == calls);
  }

  private void assertNoTrace() {
    await().until(() -> memory.inbound().used() == 0 && shares.requests().accounts() == 0);
    assertThat(memory.work().used()).isZero();
    assertThat(keys.count()).isZero();
  }

  @Test
  void largeCallsOfOneAccount_areExecutedOneAtATime() throws Exception {
    Recorded<SettleResponse> first = settle(EVIL, large("first"));
    awaitExecuted("first");
    Recorded<SettleResponse> second = settle(EVIL, large("second"));
    awaitWaiting(1);
    Recorded<SettleResponse> third = settle(EVIL, large("third"));
    awaitWaiting(2);
    assertThat(executed.keySet()).containsExactly("first");
    assertThat(memory.inbound().used()).isGreaterThan(3 * LARGE);
    answer("first");
    awaitExecuted("first", "second");
    answer("second");
    awaitExecuted("first", "second", "third");
    answer("third");
    for (Recorded<SettleResponse> each : List.of(first, second, third)) {
      assertThat(each.end().isOk()).isTrue();
    }
    assertNoTrace();
  }

  @Test
  void callsOfOthersAndSmallCalls_overtake() throws Exception {
    settle(EVIL, large("first"));
    awaitExecuted("first");
    settle(EVIL, large("second"));
    awaitWaiting(1);
    settle(GOOD, large("good"));
    awaitExecuted("first", "good");
    Recorded<SettleResponse> small = settle(EVIL, "small");
    awaitExecuted("first", "good", "small");
    answer("small");
    assertThat(small.end().isOk()).isTrue();
    assertThat(executed).doesNotContainKey("second");
  }

  @Test
  void canceledCallThatWaits_isNotExecutedAndLeavesNoTrace() {
    settle(EVIL, large("first"));
    awaitExecuted("first");
    ManagedChannel other = connect();
    settle(EVIL, large("second"), other);
    awaitWaiting(1);
    other.shutdownNow();
    await().until(() -> memory.inbound().used() < 2 * LARGE);
    awaitWaiting(0);
    answer("first");
    assertNoTrace();
    assertThat(executed.keySet()).containsExactly("first");
  }

  /** Its turn is free once the service has heard of its end. */
  @Test
  void canceledCallThatIsExecuted_givesItsTurnToTheNext() {
    ManagedChannel other = connect();
    settle(EVIL, large("first"), other);
    awaitExecuted("first");
    settle(EVIL, large("second"));
    awaitWaiting(1);
    other.shutdownNow();
    awaitExecuted("first", "second");
    answer("second");
    assertNoTrace();
  }

  @Test
  void callThatWaits_endsWithItsKey() throws Exception {
    settle(EVIL, large("first"));
    awaitExecuted("first");
    Recorded<SettleResponse> second = settle(EVIL + " 2", large("second"));
    Recorded<SettleResponse> third = settle(EVIL, large("third"));
    awaitWaiting(2);
    revoked = EVIL + " 2";
    keys.check();
    assertThat(second.end().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    awaitWaiting(1);
    assertThat(executed.keySet()).containsExactly("first");
    answer("first");
    awaitExecuted("first", "third");
    answer("third");
    assertThat(third.end().isOk()).isTrue();
    assertNoTrace();
  }

  /** The server lets it wait; its client is not slow. */
  @Test
  void callThatWaits_isNotTooSlow() throws Exception {
    settle(EVIL, large("first"));
    awaitExecuted("first");
    Recorded<SettleResponse> second = settle(EVIL, large("second"));
    awaitWaiting(1);
    server.checkPace();
    answer("first");
    awaitExecuted("first", "second");
    answer("second");
    assertThat(second.end().isOk()).isTrue();
  }

  @Test
  void requestWithoutItsEnd_keepsNoTurn() throws Exception {
    MethodDescriptor<SettleRequest, SettleResponse> endless =
        QueuesGrpc.getSettleMethod().toBuilder()
            .setType(MethodDescriptor.MethodType.CLIENT_STREAMING)
            .build();
    QueuesGrpc.QueuesStub stub = of(EVIL, channel);
    Recorded<SettleResponse> late = new Recorded<>();
    StreamObserver<SettleRequest> client =
        ClientCalls.asyncClientStreamingCall(
            stub.getChannel().newCall(endless, stub.getCallOptions()), late);
    client.onNext(request(large("late")));
    await().until(() -> memory.inbound().used() > LARGE);
    settle(EVIL, large("first"));
    awaitExecuted("first");
    client.onCompleted();
    awaitWaiting(1);
    assertThat(executed.keySet()).containsExactly("first");
    answer("first");
    awaitExecuted("first", "late");
    answer("late");
    assertThat(late.end().isOk()).isTrue();
    assertNoTrace();
  }

  @Test
  void callThatHasParsedItsRequest_keepsNoTurn() {
    for (int i = 0; i < 3; i++) {
      of(EVIL, channel)
          .enqueue(EnqueueRequest.newBuilder().setQueue(large("q")).build(), new Recorded<>());
    }
    await().until(() -> enqueued.size() == 3);
    await().until(() -> shares.requests().accounts() == 0);
    assertThat(server.openCalls()).isEqualTo(3);
  }

  @Test
  void messagesOfStreams_takeTurnsAndKeepNone() {
    settle(EVIL, large("first"));
    awaitExecuted("first");
    StreamObserver<EnqueueStreamRequest> stream = of(EVIL, channel).enqueueStream(new Recorded<>());
    // The stream itself ends with its key.
    awaitWaiting(1);
    stream.onNext(EnqueueStreamRequest.newBuilder().setQueue(large("one")).build());
    stream.onNext(EnqueueStreamRequest.newBuilder().setQueue(large("two")).build());
    awaitWaiting(2);
    assertThat(enqueued).isEmpty();
    answer("first");
    await().until(() -> enqueued.equals(List.of("one", "two")));
    await().until(() -> shares.requests().accounts() == 0);
  }
}
