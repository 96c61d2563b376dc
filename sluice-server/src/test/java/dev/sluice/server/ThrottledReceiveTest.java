package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.ListThrottlesRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.SetThrottleRequest;
import dev.sluice.testkit.load.GrantLog;
import dev.sluice.testkit.redis.TcpProxy;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Throttled messages over real sockets: a token is spent for each message that was sent. */
@Timeout(180)
final class ThrottledReceiveTest {
  private static final Duration LEASE = Duration.ofMinutes(10);
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The refill of one token takes eleven days. */
  private static final Duration PER_TOKEN = Duration.ofSeconds(1_000_000);

  @TempDir private Path dir;
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    QueueConfig config = QueueConfig.newBuilder().setLeaseTimeoutMs(LEASE.toMillis()).build();
    server.createQueue("q", config);
    server.createQueue("other", config);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void throttle(int burst) {
    SetThrottleRequest request =
        SetThrottleRequest.newBuilder()
            .setKey("t")
            .setRatePerSecond(1.0 / PER_TOKEN.toSeconds())
            .setBurst(burst)
            .build();
    assertThat(AdminGrpc.newBlockingStub(server.channel).setThrottle(request)).isNotNull();
  }

  private double level() {
    return AdminGrpc.newBlockingStub(server.channel)
        .listThrottles(ListThrottlesRequest.getDefaultInstance())
        .getThrottles(0)
        .getTokens();
  }

  private void enqueue(String queue, int count, int bytes) {
    Message.Builder message = Message.newBuilder().setPayload(ByteString.copyFrom(new byte[bytes]));
    if (queue.equals("q")) {
      message.putThrottleKeys("t", 1);
    }
    server
        .queues()
        .enqueue(
            EnqueueRequest.newBuilder()
                .setQueue(queue)
                .addAllMessages(Collections.nCopies(count, message.build()))
                .build());
  }

  private List<Delivery> receive(String queue, int most) {
    return server
        .queues()
        .receive(ReceiveRequest.newBuilder().setQueue(queue).setMaxMessages(most).build())
        .getDeliveriesList();
  }

  /** Fifty tokens, 200 messages that are ready, callers over both wires, and other traffic. */
  @Test
  void receiveWithoutWaiting_returnsOneMessagePerToken() throws Exception {
    throttle(50);
    enqueue("q", 200, 10);
    HttpProbe http = new HttpProbe(server.server.httpPort());
    IntSupplier overHttp =
        () -> http.post("/v1/queues/q/receive", "{}").json().at("/deliveries").size();
    IntSupplier overGrpc = () -> receive("q", 1).size();
    AtomicInteger got = new AtomicInteger();
    AtomicBoolean over = new AtomicBoolean();
    ExecutorService callers = Executors.newFixedThreadPool(5);
    try {
      Future<?> load = callers.submit(() -> load(over));
      List<Future<?>> polling = new ArrayList<>();
      for (IntSupplier poll : List.of(overHttp, overGrpc, overHttp, overGrpc)) {
        polling.add(callers.submit(() -> pollUntilEmpty(poll, got)));
      }
      for (Future<?> each : polling) {
        each.get();
      }
      over.set(true);
      load.get();
    } finally {
      callers.shutdownNow();
    }
    assertThat(got).hasValue(50);
    assertThat(level()).isLessThan(0.1);
  }

  /** Ends with the first empty answer, which must not come while a message can be delivered. */
  private static void pollUntilEmpty(IntSupplier poll, AtomicInteger got) {
    for (int some = poll.getAsInt(); some > 0; some = poll.getAsInt()) {
      got.addAndGet(some);
    }
  }

  private void load(AtomicBoolean over) {
    while (!over.get()) {
      enqueue("other", 20, 10);
      assertThat(receive("other", 20)).isNotEmpty();
    }
  }

  /** A consumer behind a proxy that cuts its connection, as if its process were killed. */
  private final class KilledConsumer implements AutoCloseable {
    private final TcpProxy proxy = TcpProxy.to(server.server.grpcPort());
    private final ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", proxy.port()).usePlaintext().build();
    private final ClientCall<ConsumeRequest, ConsumeResponse> call =
        channel.newCall(QueuesGrpc.getConsumeMethod(), CallOptions.DEFAULT);
    private final LinkedBlockingQueue<ConsumeResponse> responses = new LinkedBlockingQueue<>();

    KilledConsumer(int prefetch) {
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onMessage(ConsumeResponse response) {
              responses.add(response);
            }
          },
          new Metadata());
      call.sendMessage(
          ConsumeRequest.newBuilder()
              .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(prefetch))
              .build());
      call.request(1);
    }

    List<Delivery> read(int count) throws InterruptedException {
      List<Delivery> all = new ArrayList<>();
      for (int i = 0; i < count; ) {
        call.request(1);
        ConsumeResponse next = responses.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(next).isNotNull();
        if (next.hasDeliveries()) {
          all.addAll(next.getDeliveries().getDeliveriesList());
          i++;
        }
      }
      return all;
    }

    @Override
    public void close() {
      proxy.cut();
      proxy.close();
      channel.shutdownNow();
    }
  }

  private long inFlight() {
    return server
        .queues()
        .getQueue(GetQueueRequest.newBuilder().setName("q").build())
        .getStats()
        .getInFlight();
  }

  @Test
  void killedConsumers_spendTokensForWrittenMessagesOnly_andNeverTwice() throws Exception {
    int burst = 1_000;
    throttle(burst);
    for (int i = 0; i < 15; i++) {
      enqueue("q", 100, 20_000);
    }
    GrantLog delivered = new GrantLog();
    int readBeforeTheKill = 0;
    List<KilledConsumer> killed =
        List.of(new KilledConsumer(400), new KilledConsumer(300), new KilledConsumer(300));
    try {
      for (int i = 0; i < killed.size(); i++) {
        // Each consumer reads more than the one before; none settles a message.
        List<Delivery> read = killed.get(i).read(1 + 2 * i);
        readBeforeTheKill += read.size();
        read.forEach(each -> record(delivered, each));
      }
      await().atMost(PATIENCE).until(() -> inFlight() == burst);
      assertThat(level()).isLessThan(1);
    } finally {
      killed.forEach(KilledConsumer::close);
    }
    await().atMost(PATIENCE).until(() -> inFlight() == 0);
    double back = level();
    // Messages in buffers of the connection count as written; most messages were not written.
    assertThat(back)
        .isGreaterThan(burst / 2.0)
        .isLessThanOrEqualTo(burst - readBeforeTheKill + 0.1);
    int after = 0;
    for (List<Delivery> more = receive("q", 100); !more.isEmpty(); more = receive("q", 100)) {
      more.forEach(each -> record(delivered, each));
      after += more.size();
    }
    assertThat(after).isEqualTo((int) back);
    assertThat(delivered.maxExcess(burst, 1, PER_TOKEN.toMillis())).isNotPositive();
  }

  private static void record(GrantLog log, Delivery delivery) {
    log.record(delivery.getLeaseEndsAtMs() - LEASE.toMillis(), 1);
  }
}
