package dev.sluice.server;

import static dev.sluice.server.RawHttp2.CONTINUATION;
import static dev.sluice.server.RawHttp2.DATA;
import static dev.sluice.server.RawHttp2.END_HEADERS;
import static dev.sluice.server.RawHttp2.HEADERS;
import static dev.sluice.server.RawHttp2.PING;
import static dev.sluice.server.RawHttp2.PREFACE;
import static dev.sluice.server.RawHttp2.RESET;
import static dev.sluice.server.RawHttp2.SETTINGS;
import static dev.sluice.server.RawHttp2.begin;
import static dev.sluice.server.RawHttp2.call;
import static dev.sluice.server.RawHttp2.field;
import static dev.sluice.server.RawHttp2.frame;
import static dev.sluice.server.RawHttp2.headers;
import static dev.sluice.server.RawHttp2.join;
import static dev.sluice.server.RawHttp2.message;
import static dev.sluice.server.RawHttp2.rawFrame;
import static dev.sluice.server.RawHttp2.repeat;
import static dev.sluice.server.RawHttp2.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.Message;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Frames and requests that no client would send: the server closes the connection or refuses the
 * call, keeps nothing of it, and goes on. {@code -Dsluice.storm=N} makes the storms N times as
 * long.
 */
@Tag("any-jdk")
@Timeout(300)
final class HostileGrpcTest {
  private static final int STORM = Integer.getInteger("sluice.storm", 1);
  private static final long MAX_GROWTH = 64L << 20;

  @TempDir private static Path dir;
  private static TestServer server;
  private static long usedBefore;

  @BeforeAll
  static void start() throws Exception {
    server = TestServer.start(dir);
    server.createQueue("q");
    usedBefore = usedHeap();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** As before the storm: answers, has nothing open, holds no more memory. */
  @AfterEach
  void serverIsAsBefore() {
    assertThat(server.queues().listQueues(ListQueuesRequest.getDefaultInstance()).getQueuesCount())
        .isPositive();
    await().until(() -> server.server.openCalls() == 0);
    await().until(() -> server.server.grpcConnections() <= 1);
    assertThat(server.server.openStreams()).isZero();
    assertThat(usedHeap() - usedBefore).isLessThan(MAX_GROWTH);
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** Sends all of it, and reads until the server closes or has nothing more to say. */
  private static byte[] exchange(byte[] bytes) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.server.grpcPort())) {
      socket.setSoTimeout(100);
      ByteArrayOutputStream answer = new ByteArrayOutputStream();
      try {
        OutputStream out = socket.getOutputStream();
        out.write(bytes);
        byte[] buffer = new byte[16 << 10];
        for (int read; (read = socket.getInputStream().read(buffer)) >= 0; ) {
          answer.write(buffer, 0, read);
        }
      } catch (SocketTimeoutException | SocketException silentOrReset) {
        return answer.toByteArray();
      }
      return answer.toByteArray();
    }
  }

  private static String asText(byte[] answer) {
    return new String(answer, StandardCharsets.ISO_8859_1);
  }

  @Test
  void noise_isClosed() throws IOException {
    Random random = new Random(11);
    for (int i = 0; i < 20 * STORM; i++) {
      byte[] noise = new byte[1 + random.nextInt(4_000)];
      random.nextBytes(noise);
      exchange(noise);
      exchange(join(PREFACE, noise));
      exchange(join(begin(), noise));
    }
  }

  @Test
  void truncatedPreface_isDiscarded() throws IOException {
    for (int length = 1; length < PREFACE.length; length += 4) {
      exchange(Arrays.copyOf(PREFACE, length));
    }
  }

  @Test
  void frames_thatBreakTheProtocol_endTheConnection() throws IOException {
    byte[] eight = new byte[8];
    List<byte[]> broken =
        List.of(
            rawFrame(0xFFFFFF, DATA, 0, 1, eight),
            rawFrame(5, SETTINGS, 0, 0, new byte[5]),
            frame(SETTINGS, 1, 0, eight),
            frame(PING, 0, 1, eight),
            frame(PING, 0, 0, new byte[7]),
            frame(DATA, 0, 0, eight),
            frame(DATA, 0, 1, eight),
            frame(HEADERS, END_HEADERS, 2, headers("/x/y")),
            frame(HEADERS, END_HEADERS, 1, new byte[] {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF}),
            frame(CONTINUATION, END_HEADERS, 1, headers("/x/y")),
            frame(RESET, 0, 0, new byte[4]),
            frame(0x77, 0xFF, 1, eight));
    for (byte[] each : broken) {
      exchange(join(begin(), each));
    }
  }

  @Test
  void floods_leaveTheServerUp() throws IOException {
    byte[] ping = frame(PING, 0, 0, new byte[8]);
    byte[] settings = frame(SETTINGS, 0, 0, new byte[0]);
    byte[] empty = frame(DATA, 0, 1, new byte[0]);
    for (byte[] each : List.of(ping, settings)) {
      exchange(join(begin(), repeat(each, 5_000 * STORM)));
    }
    byte[] open = frame(HEADERS, END_HEADERS, 1, headers("/sluice.v1.Queues/EnqueueStream"));
    exchange(join(begin(), open, repeat(empty, 5_000 * STORM)));
    ByteArrayOutputStream resets = new ByteArrayOutputStream();
    for (int i = 0; i < 3_000 * STORM; i++) {
      int stream = 2 * i + 1;
      resets.writeBytes(
          frame(HEADERS, END_HEADERS, stream, headers("/sluice.v1.Queues/ListQueues")));
      resets.writeBytes(frame(RESET, 0, stream, new byte[] {0, 0, 0, 8}));
    }
    exchange(join(begin(), resets.toByteArray()));
  }

  @Test
  void headers_withoutEnd_areNotBuffered() throws IOException {
    byte[] part = repeat(field("x-a", "y".repeat(100)), 100);
    byte[] bomb =
        join(
            begin(),
            frame(HEADERS, 0, 1, headers("/sluice.v1.Queues/ListQueues")),
            repeat(frame(CONTINUATION, 0, 1, part), 500));
    exchange(bomb);
    // One long field in the table, then thousands of references to it.
    byte[] indexed = join(new byte[] {0x40}, text("x-b"), text("z".repeat(120)));
    byte[] references = new byte[12_000];
    Arrays.fill(references, (byte) 0xBE);
    exchange(
        join(
            begin(),
            frame(
                HEADERS,
                END_HEADERS,
                1,
                join(headers("/sluice.v1.Queues/ListQueues"), indexed, references))));
  }

  @Test
  void messages_withAFalseLengthOrFlag_areRefused() throws IOException {
    String enqueue = "/sluice.v1.Queues/Enqueue";
    byte[] garbage = {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 1};
    List<byte[]> lies =
        List.of(
            message(1, 5, garbage),
            message(7, 5, garbage),
            message(0, 5, garbage),
            message(0, 100, garbage),
            message(0, -1, garbage),
            message(0, Integer.MAX_VALUE, garbage),
            message(0, 0, garbage),
            new byte[] {0, 0});
    for (byte[] lie : lies) {
      String answer = asText(exchange(join(begin(), call(1, enqueue, lie))));
      assertThat(answer).doesNotContain("grpc-status\u00010");
    }
  }

  @Test
  void requests_withFlippedBits_getCleanAnswers() throws IOException {
    byte[] request =
        EnqueueRequest.newBuilder()
            .setQueue("flips")
            .addMessages(Message.newBuilder().setPayload(ByteString.copyFromUtf8("payload")))
            .build()
            .toByteArray();
    byte[] good = call(1, "/sluice.v1.Queues/Enqueue", message(0, request.length, request));
    Random random = new Random(12);
    for (int i = 0; i < 40 * STORM; i++) {
      byte[] bad = good.clone();
      for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
        bad[random.nextInt(bad.length)] ^= (byte) (1 << random.nextInt(8));
      }
      assertThat(asText(exchange(join(begin(), bad)))).doesNotContain("Exception");
    }
  }

  @Test
  void requests_withVeryManyParts_areRefusedOrAnswered() {
    EnqueueRequest.Builder many = EnqueueRequest.newBuilder().setQueue("nowhere");
    Message empty = Message.getDefaultInstance();
    for (int i = 0; i < 200_000; i++) {
      many.addMessages(empty);
    }
    EnqueueRequest request = many.build();
    assertThat(KeyedServer.codeOf(() -> server.queues().enqueue(request)))
        .isNotIn(Status.Code.OK, Status.Code.INTERNAL);
    String name = "n".repeat(1 << 20);
    assertThat(
            KeyedServer.codeOf(
                () ->
                    server
                        .queues()
                        .createQueue(CreateQueueRequest.newBuilder().setName(name).build())))
        .isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void silentConnections_delayNoOther() throws IOException {
    List<Socket> silent = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.server.grpcPort());
      socket.getOutputStream().write(PREFACE, 0, i % PREFACE.length);
      silent.add(socket);
    }
    assertThat(server.queues().listQueues(ListQueuesRequest.getDefaultInstance())).isNotNull();
    for (Socket socket : silent) {
      socket.close();
    }
  }
}
