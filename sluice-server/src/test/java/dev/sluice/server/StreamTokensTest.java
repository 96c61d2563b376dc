package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Message;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.services.ConsumeStream;
import dev.sluice.server.operations.QueueOperations;
import io.grpc.stub.ServerCallStreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Throttle tokens of a stream that ends: spent for each message handed to the transport. */
@Timeout(120)
final class StreamTokensTest {
  private static final int MESSAGES = 1_000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private Path dir;
  private Broker broker;
  private QueueOperations queues;

  @BeforeEach
  void open() throws IOException {
    broker = Broker.open(dir.resolve("broker"));
    queues =
        new QueueOperations(
            broker,
            new QueueAuthorization(broker),
            new AccountQuotas(ApiKeyStore.open(dir)),
            AccountQuotas.openCalls());
    broker.createQueue("q");
    broker.setLimit("t", Limit.ofRate(0, MESSAGES));
    Message message = Message.of(new byte[10_000]).withThrottleKeys("t");
    broker.enqueueAll("q", Collections.nCopies(MESSAGES, message)).join();
  }

  @AfterEach
  void close() {
    broker.close();
  }

  /** A transport that is ready for {@code capacity} responses. */
  private static final class Transport extends ServerCallStreamObserver<ConsumeResponse> {
    private Runnable onCancel = () -> {};
    private Runnable onReady = () -> {};

    // Guarded by this.
    private int capacity;
    private int responses;
    private int messages;
    private boolean canceled;
    private boolean drained;
    private boolean completed;

    Transport(int capacity) {
      this.capacity = capacity;
    }

    @Override
    public synchronized void onNext(ConsumeResponse response) {
      assertThat(completed).isFalse();
      drained |= response.hasDrained();
      if (response.hasDeliveries()) {
        assertThat(canceled || drained).isFalse();
        responses++;
        messages += response.getDeliveries().getDeliveriesCount();
      }
    }

    synchronized int messages() {
      return messages;
    }

    synchronized boolean isDrained() {
      return drained;
    }

    synchronized boolean isCompleted() {
      return completed;
    }

    @Override
    public synchronized boolean isReady() {
      return responses < capacity;
    }

    @Override
    public synchronized boolean isCancelled() {
      return canceled;
    }

    /** The client begins to read. */
    void takeAll() {
      synchronized (this) {
        capacity = Integer.MAX_VALUE;
      }
      onReady.run();
    }

    void cancel() {
      onCancel.run();
      synchronized (this) {
        canceled = true;
      }
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
      onCancel = handler;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {
      onReady = handler;
    }

    @Override
    public void onError(Throwable why) {}

    @Override
    public synchronized void onCompleted() {
      completed = true;
    }

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void disableAutoRequest() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}

    @Override
    public void setCompression(String compression) {}
  }

  private ConsumeStream open(Transport transport) {
    var stream =
        new ConsumeStream(queues, KeyedServer.by(Caller.ANYBODY), transport, new OpenStreams());
    stream.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(MESSAGES))
            .build());
    return stream;
  }

  private static void drain(ConsumeStream stream) {
    stream.onNext(
        ConsumeRequest.newBuilder().setDrain(ConsumeRequest.Drain.getDefaultInstance()).build());
  }

  private double level() {
    return broker.view().limitStats().limits().get(0).level();
  }

  @Test
  void streamOfASlowClient_spendsTokensForMessagesTakenByTheTransport() {
    int spent = 0;
    for (int capacity : new int[] {0, 1, 3}) {
      Transport transport = new Transport(capacity);
      open(transport);
      double left = MESSAGES - spent;
      await().atMost(PATIENCE).until(() -> broker.stats("q").inFlight() == (long) left);
      await().atMost(PATIENCE).until(() -> !transport.isReady());
      transport.cancel();
      await().atMost(PATIENCE).until(() -> broker.stats("q").inFlight() == 0);
      spent += transport.messages();
      assertThat(level()).isEqualTo(MESSAGES - spent);
    }
    assertThat(spent).isBetween(4, MESSAGES - 1);
  }

  @Test
  void streamOfASlowClient_continuesOnceItReads() {
    Transport transport = new Transport(1);
    open(transport);
    await().atMost(PATIENCE).until(() -> !transport.isReady());
    int before = transport.messages();
    assertThat(before).isLessThan(MESSAGES);
    transport.takeAll();
    await().atMost(PATIENCE).until(() -> transport.messages() == MESSAGES);
  }

  /** The client leaves while messages are being sent. */
  @Test
  void streamThatEndsInTheMiddle_spendsTokensForMessagesTakenByTheTransport() {
    int spent = 0;
    for (int i = 0; i < 20 && spent < MESSAGES; i++) {
      Transport transport = new Transport(Integer.MAX_VALUE);
      open(transport);
      await().pollDelay(Duration.ZERO).atMost(PATIENCE).until(() -> transport.messages() > 0);
      transport.cancel();
      await().atMost(PATIENCE).until(() -> broker.stats("q").inFlight() == 0);
      spent += transport.messages();
      assertThat(level()).isEqualTo(MESSAGES - spent);
    }
    assertThat(spent).isPositive();
  }

  /** The client drains while messages are being sent, or while it does not read. */
  @Test
  void drainedStream_returnsTokensOfUnsentMessages() {
    int spent = 0;
    for (int capacity : new int[] {0, 1, 2, Integer.MAX_VALUE}) {
      Transport transport = new Transport(capacity);
      ConsumeStream stream = open(transport);
      await()
          .pollDelay(Duration.ZERO)
          .atMost(PATIENCE)
          .until(() -> transport.messages() > 0 || capacity == 0);
      drain(stream);
      await().atMost(PATIENCE).until(transport::isDrained);
      int taken = transport.messages();
      spent += taken;
      assertThat(broker.stats("q").inFlight()).isEqualTo(taken);
      assertThat(level()).isEqualTo(MESSAGES - spent);
      transport.cancel();
      await().atMost(PATIENCE).until(() -> broker.stats("q").inFlight() == 0);
      assertThat(level()).isEqualTo(MESSAGES - spent);
    }
  }

  @Test
  void drain_isAnswered_beforeAStreamThatIsHalfClosedEnds() {
    for (int i = 0; i < 20; i++) {
      Transport transport = new Transport(0);
      ConsumeStream stream = open(transport);
      drain(stream);
      stream.onCompleted();
      await().atMost(PATIENCE).until(transport::isCompleted);
      assertThat(transport.isDrained()).isTrue();
    }
  }
}
