package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.testkit.ServerProcess;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server with little memory, which ends when that is used up, and callers who want much. */
@Tag("any-jdk")
final class SmallHeapTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int BODY = 23 * MEBIBYTE;
  private static final int CALLERS = 14;
  private static final int LARGE = 24;

  private static ServerProcess server;
  private static HttpProbe http;
  private static ManagedChannel channel;

  @BeforeAll
  static void start(@TempDir Path dir) throws IOException {
    server = ServerMain.start(dir, "-Xmx256m", "-XX:+ExitOnOutOfMemoryError");
    http = new HttpProbe(server.httpPort());
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort())
            .usePlaintext()
            .maxInboundMessageSize(32 * MEBIBYTE)
            .build();
  }

  @AfterAll
  static void stop() {
    channel.shutdownNow();
    server.close();
  }

  private static byte[] head(int length) {
    return "POST /v1/queues/big/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
        .formatted(length)
        .getBytes(StandardCharsets.US_ASCII);
  }

  @Test
  void bodies_thatDoNotEnd_areRefusedBeyondTheBudget() throws IOException {
    assertThat(http.post("/v1/queues", "{\"name\":\"bodies\"}").status()).isEqualTo(201);
    byte[] allButOne = new byte[BODY - 1];
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < CALLERS; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
        sockets.add(socket);
        socket.setSoTimeout(20_000);
        socket.getOutputStream().write(head(BODY));
        socket.getOutputStream().write(allButOne);
      }
      assertThat(http.get("/v1/queues/bodies").status()).isEqualTo(200);
      List<String> answers = new ArrayList<>();
      for (Socket socket : sockets) {
        socket.getOutputStream().write(0);
        answers.add(head(socket));
      }
      assertThat(answers).anySatisfy(answer -> assertThat(answer).startsWith("HTTP/1.1 400"));
      assertThat(answers.stream().filter(SmallHeapTest::isRefused).count())
          .isGreaterThan(CALLERS / 2);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
    assertThat(server.isAlive()).isTrue();
    assertThat(http.post("/v1/queues/bodies/messages", "{\"payload\":\"small\"}").status())
        .isEqualTo(200);
  }

  private static boolean isRefused(String answer) {
    return answer.startsWith("HTTP/1.1 503")
        && answer.contains("Retry-After: 1")
        && answer.contains("Connection: close");
  }

  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = socket.getInputStream().read();
      if (next < 0) {
        break;
      }
      head.append((char) next);
    }
    return head.toString();
  }

  @Test
  void requests_ofCallsThatDoNotEnd_areRefusedBeyondTheBudget() {
    Queue<Status> ends = new ConcurrentLinkedQueue<>();
    EnqueueRequest request =
        EnqueueRequest.newBuilder().setQueue("none").addMessages(message(20 * MEBIBYTE)).build();
    List<ClientCall<EnqueueRequest, EnqueueResponse>> calls = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      ClientCall<EnqueueRequest, EnqueueResponse> call =
          channel.newCall(QueuesGrpc.getEnqueueMethod(), CallOptions.DEFAULT);
      calls.add(call);
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              ends.add(status);
            }
          },
          new Metadata());
      call.request(1);
      call.sendMessage(request);
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> ends.size() >= CALLERS - 1 || !server.isAlive());
    assertThat(ends)
        .isNotEmpty()
        .allSatisfy(end -> assertThat(end.getCode()).isEqualTo(Status.Code.UNAVAILABLE))
        .allSatisfy(end -> assertThat(end.getDescription()).contains("no memory for requests"));
    calls.forEach(call -> call.cancel("enough", null));
    assertThat(server.isAlive()).isTrue();
  }

  private static Message message(int bytes) {
    return Message.newBuilder().setPayload(ByteString.copyFrom(new byte[bytes])).build();
  }

  /** A stream that may have a thousand messages and reads none. */
  private static ClientCall<ConsumeRequest, ConsumeResponse> consumeSilently(String queue) {
    ClientCall<ConsumeRequest, ConsumeResponse> call =
        channel.newCall(QueuesGrpc.getConsumeMethod(), CallOptions.DEFAULT);
    call.start(new ClientCall.Listener<>() {}, new Metadata());
    call.sendMessage(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue(queue).setPrefetch(1_000))
            .build());
    return call;
  }

  @Test
  void largeMessages_areDeliveredInParts() {
    assertThat(http.post("/v1/queues", "{\"name\":\"large\"}").status()).isEqualTo(201);
    QueuesGrpc.QueuesBlockingStub queues = QueuesGrpc.newBlockingStub(channel);
    EnqueueRequest ten =
        EnqueueRequest.newBuilder().setQueue("large").addMessages(message(10_000_000)).build();
    int left = LARGE;
    for (int i = 0; i < left; i++) {
      assertThat(queues.enqueue(ten).getIdsCount()).isEqualTo(1);
    }
    ClientCall<ConsumeRequest, ConsumeResponse> silent = consumeSilently("large");
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> http.get("/v1/queues/large").json().at("/stats/in_flight").asInt() == LARGE);
    assertThat(http.get("/v1/queues/large").status()).isEqualTo(200);
    silent.cancel("enough", null);
    ReceiveRequest all =
        ReceiveRequest.newBuilder().setQueue("large").setMaxMessages(25).setWaitMs(10_000).build();
    while (left > 0) {
      int got = queues.receive(all).getDeliveriesCount();
      assertThat(got).isBetween(1, 2);
      left -= got;
    }
    assertThat(server.isAlive()).isTrue();
  }
}
