package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.Settlement;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that sends and never reads has to stop sending. */
@Timeout(60)
final class SilentReaderTest {
  /** Far more than fits into the windows of a connection. */
  private static final int MANY = 250;

  private static final int BATCH = 1_000;
  private static final EnqueueRequest ONE =
      EnqueueRequest.newBuilder().setQueue("q").addMessages(Message.getDefaultInstance()).build();

  private static TestServer server;

  @BeforeAll
  static void start(@TempDir Path dir) throws IOException {
    server = TestServer.start(dir);
    server.createQueue("q");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** How many requests can be sent before nothing goes any more; then the client leaves. */
  private static <Q, A> int sent(MethodDescriptor<Q, A> method, Q first, Q more)
      throws InterruptedException {
    Semaphore ready = new Semaphore(0);
    ClientCall<Q, A> call = server.channel.newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onReady() {
            ready.release();
          }
        },
        new Metadata());
    call.sendMessage(first);
    int sent = 0;
    while (sent < MANY && (call.isReady() || ready.tryAcquire(1, TimeUnit.SECONDS))) {
      if (call.isReady()) {
        call.sendMessage(more);
        sent++;
      }
    }
    try (CapturedLog log = new CapturedLog()) {
      call.cancel("gone", null);
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> server.server.openStreams() == 0 && server.server.openCalls() == 0);
      assertThat(server.queues().enqueue(ONE).getIdsCount()).isEqualTo(1);
      assertThat(log.text()).doesNotContain("ERROR", "at dev.sluice");
    }
    return sent;
  }

  @Test
  void settling_stopsWithoutReads() throws InterruptedException {
    ConsumeRequest open =
        ConsumeRequest.newBuilder().setOpen(ConsumeRequest.Open.newBuilder().setQueue("q")).build();
    ConsumeRequest.Settlements.Builder unknown = ConsumeRequest.Settlements.newBuilder();
    for (int i = 0; i < BATCH; i++) {
      unknown.addSettlements(
          Settlement.newBuilder()
              .setId(new UUID(0, i).toString())
              .setLeaseToken("1.1")
              .setAck(Settlement.Ack.getDefaultInstance()));
    }
    ConsumeRequest settle = ConsumeRequest.newBuilder().setSettle(unknown).build();
    assertThat(sent(QueuesGrpc.getConsumeMethod(), open, settle)).isLessThan(MANY);
  }

  @Test
  void enqueueing_stopsWithoutReads() throws InterruptedException {
    Message message = Message.newBuilder().setPayload(ByteString.copyFrom(new byte[100])).build();
    EnqueueStreamRequest batch =
        EnqueueStreamRequest.newBuilder()
            .setQueue("q")
            .addAllMessages(Collections.nCopies(BATCH, message))
            .build();
    assertThat(sent(QueuesGrpc.getEnqueueStreamMethod(), batch, batch)).isLessThan(MANY);
  }
}
