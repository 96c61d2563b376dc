package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.CreateQueueResponse;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.UpdateQueueRequest;
import dev.sluice.proto.v1.UpdateQueueResponse;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.GrpcServer;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls of one account that keep threads busy leave some to the calls of others. */
@Tag("any-jdk")
@Timeout(60)
final class CallTurnsTest {
  private static final int THREADS = 4;
  private static final String EVIL = "evil";
  private static final String HASTY = "hasty";
  private static final int LARGE = 100 << 10;

  private final MemoryBudgets memory = MemoryBudgets.ofHeap();
  private final ExecutorService workers = Executors.newFixedThreadPool(THREADS);
  private final CountDownLatch end = new CountDownLatch(1);
  private final Semaphore blocked = new Semaphore(0);
  private final AtomicBoolean cameEarly = new AtomicBoolean();
  private final AtomicInteger running = new AtomicInteger();
  private final AtomicInteger listing = new AtomicInteger();
  private final AtomicInteger most = new AtomicInteger();
  private GrpcServer server;
  private ManagedChannel channel;

  /** Keeps the threads of the evil account until the end. */
  private final class Blocking extends QueuesGrpc.QueuesImplBase {
    private void block() {
      if (AuthenticationInterceptor.caller().account().equals(EVIL)) {
        most.accumulateAndGet(running.incrementAndGet(), Math::max);
        blocked.release();
        try {
          end.await();
        } catch (InterruptedException closing) {
          Thread.currentThread().interrupt();
        }
        running.decrementAndGet();
      }
    }

    /** Asks for a message and looks whether it comes before the start of the call is over. */
    private void askAtOnce(ServerCallStreamObserver<EnqueueStreamResponse> call) {
      call.disableAutoRequest();
      call.request(1);
      for (int i = 0; i < 50 && !cameEarly.get(); i++) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        cameEarly.set(memory.inbound().used() > LARGE);
      }
    }

    private void blockList() {
      listing.addAndGet(AuthenticationInterceptor.caller().account().equals(EVIL) ? 1 : 0);
      block();
    }

    @Override
    public void createQueue(CreateQueueRequest request, StreamObserver<CreateQueueResponse> call) {
      blockList();
      call.onNext(CreateQueueResponse.getDefaultInstance());
      call.onCompleted();
    }

    @Override
    public void updateQueue(UpdateQueueRequest request, StreamObserver<UpdateQueueResponse> call) {
      blockList();
      call.onNext(UpdateQueueResponse.getDefaultInstance());
      call.onCompleted();
    }

    @Override
    public void listQueues(ListQueuesRequest request, StreamObserver<ListQueuesResponse> call) {
      blockList();
      call.onNext(ListQueuesResponse.getDefaultInstance());
      call.onCompleted();
    }

    @Override
    public void enqueue(EnqueueRequest request, StreamObserver<EnqueueResponse> call) {
      block();
      call.onNext(EnqueueResponse.getDefaultInstance());
      call.onCompleted();
    }

    @Override
    public StreamObserver<EnqueueStreamRequest> enqueueStream(
        StreamObserver<EnqueueStreamResponse> call) {
      if (AuthenticationInterceptor.caller().account().equals(HASTY)) {
        askAtOnce((ServerCallStreamObserver<EnqueueStreamResponse>) call);
      }
      return new StreamObserver<>() {
        @Override
        public void onNext(EnqueueStreamRequest request) {
          block();
          call.onNext(EnqueueStreamResponse.getDefaultInstance());
        }

        @Override
        public void onError(Throwable gone) {}

        @Override
        public void onCompleted() {
          call.onCompleted();
        }
      };
    }
  }

  @BeforeEach
  void start() throws Exception {
    RevocationWatcher keys =
        new RevocationWatcher(
            account -> new Caller(String.valueOf(account), true, List.of(), ApiKey.NEVER),
            InstantSource.system());
    server =
        new GrpcServer(
            new ProtocolListenerConfig(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    TransportConfig.DEFAULTS,
                    null)
                .withMemory(memory),
            new AccountCallExecutor(new AccountExecutors(THREADS), workers),
            new AuthenticationInterceptor(keys, AccountQuotas.openCalls()),
            new Readiness(() -> {}),
            new ServerMetrics().requests(),
            List.of(new Blocking().bindService()));
    server.start();
    channel = connect();
  }

  @AfterEach
  void stop() {
    end.countDown();
    channel.shutdownNow();
    server.close(Duration.ZERO);
    workers.shutdownNow();
  }

  private QueuesGrpc.QueuesStub of(String account) {
    return of(account, channel);
  }

  private static QueuesGrpc.QueuesStub of(String account, ManagedChannel channel) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), account);
    return QueuesGrpc.newStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private void assertOthersAreServed(int threads) throws Exception {
    assertThat(blocked.tryAcquire(threads, 30, TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < 10; i++) {
      Recorded<ListQueuesResponse> answer = new Recorded<>();
      of("good").listQueues(ListQueuesRequest.getDefaultInstance(), answer);
      assertThat(answer.end().isOk()).isTrue();
    }
    assertThat(most).hasValue(threads);
  }

  @Test
  void listsOfOneAccount_haveOneThread() throws Exception {
    for (int i = 0; i < THREADS; i++) {
      of(EVIL).listQueues(ListQueuesRequest.getDefaultInstance(), new Recorded<>());
    }
    of(EVIL).enqueue(EnqueueRequest.getDefaultInstance(), new Recorded<>());
    assertOthersAreServed(THREADS / 2);
    assertThat(listing).hasValue(1);
  }

  /** The broker goes through all fairness keys of a queue for a change of it. */
  @Test
  void changesOfQueuesOfOneAccount_haveOneThread() throws Exception {
    for (int i = 0; i < THREADS; i++) {
      of(EVIL).createQueue(CreateQueueRequest.getDefaultInstance(), new Recorded<>());
      of(EVIL).updateQueue(UpdateQueueRequest.getDefaultInstance(), new Recorded<>());
    }
    of(EVIL).enqueue(EnqueueRequest.getDefaultInstance(), new Recorded<>());
    assertOthersAreServed(THREADS / 2);
    assertThat(listing).hasValue(1);
  }

  @Test
  void callsOfOneAccount_leaveThreadsToOthers() throws Exception {
    List<Recorded<EnqueueResponse>> answers = new ArrayList<>();
    for (int i = 0; i < 10 * THREADS; i++) {
      Recorded<EnqueueResponse> answer = new Recorded<>();
      answers.add(answer);
      of(EVIL).enqueue(EnqueueRequest.getDefaultInstance(), answer);
    }
    assertOthersAreServed(THREADS / 2);
    end.countDown();
    for (Recorded<EnqueueResponse> answer : answers) {
      assertThat(answer.end().isOk()).isTrue();
    }
    assertThat(most).hasValue(THREADS / 2);
  }

  @Test
  void streamsOfOneAccount_leaveThreadsToOthers() throws Exception {
    for (int i = 0; i < 2 * THREADS; i++) {
      of(EVIL).enqueueStream(new Recorded<>()).onNext(EnqueueStreamRequest.getDefaultInstance());
    }
    assertOthersAreServed(THREADS / 2);
  }

  /** The start of a call has no share of its account yet. */
  @Test
  void firstRequestedMessage_arrivesAfterTheStart() throws Exception {
    Recorded<EnqueueStreamResponse> answers = new Recorded<>();
    of(HASTY)
        .enqueueStream(answers)
        .onNext(EnqueueStreamRequest.newBuilder().setQueue("q".repeat(2 * LARGE)).build());
    assertThat(answers.next()).isNotNull();
    assertThat(cameEarly).isFalse();
  }

  private ManagedChannel connect() {
    return NettyChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext().build();
  }

  private static EnqueueRequest large() {
    return EnqueueRequest.newBuilder()
        .addMessages(Message.newBuilder().setPayload(ByteString.copyFrom(new byte[LARGE])))
        .build();
  }

  /** Its request has been handed over, and is in memory until the account gets a thread. */
  @Test
  void cancelledCallThatWaitsForAThread_keepsItsMemory() throws Exception {
    for (int i = 0; i < THREADS / 2; i++) {
      of(EVIL).enqueue(EnqueueRequest.getDefaultInstance(), new Recorded<>());
    }
    assertThat(blocked.tryAcquire(THREADS / 2, 30, TimeUnit.SECONDS)).isTrue();
    ManagedChannel other = connect();
    of(EVIL, other).enqueue(large(), new Recorded<>());
    await().until(() -> memory.inbound().used() > LARGE);
    other.shutdownNow();
    await().until(() -> server.openConnections() == 1);
    assertThat(memory.inbound().used()).isGreaterThan(LARGE);
    end.countDown();
    await().until(() -> memory.inbound().used() == 0);
    assertThat(most).hasValue(THREADS / 2);
  }

  @Test
  void abortedCalls_releaseAllMemory() throws Exception {
    end.countDown();
    for (int i = 0; i < 50; i++) {
      ManagedChannel other = connect();
      for (int call = 0; call < 10; call++) {
        of(EVIL, other).enqueue(large(), new Recorded<>());
        of(EVIL, other)
            .enqueueStream(new Recorded<>())
            .onNext(EnqueueStreamRequest.getDefaultInstance());
      }
      other.shutdownNow();
    }
    assertThat(workers.isShutdown()).isFalse();
    await().until(() -> server.openCalls() == 0 && memory.inbound().used() == 0);
    assertThat(memory.work().used()).isZero();
    await().until(() -> memory.unread().used() == 0);
    assertThat(memory.answers().used()).isZero();
  }
}
