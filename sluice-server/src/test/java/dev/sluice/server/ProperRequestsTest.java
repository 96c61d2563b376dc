package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes that are no protobuf are refused, and the log does not fill up with it. */
@Timeout(60)
final class ProperRequestsTest {
  private static final byte[] MALFORMED = {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 1};

  @TempDir private static Path dir;
  private static TestServer server;

  @BeforeAll
  static void start() throws IOException {
    server = TestServer.start(dir);
    server.createQueue("q");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    Marshaller<byte[]> raw =
        new Marshaller<>() {
          @Override
          public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
          }

          @Override
          public byte[] parse(InputStream stream) {
            try {
              return stream.readAllBytes();
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
          }
        };
    return MethodDescriptor.newBuilder(raw, raw).setFullMethodName(name).setType(type).build();
  }

  private static void assertRefused(Status status, String method) {
    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains(method);
    await().until(() -> server.server.openCalls() == 0);
    assertThat(server.server.openStreams()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sluice.v1.Queues/Enqueue",
        "sluice.v1.Limits/Decide",
        "sluice.v1.Admin/ListApiKeys",
        "fila.v1.FilaService/Enqueue",
        "fila.v1.FilaAdmin/CreateQueue",
        "grpc.health.v1.Health/Check"
      })
  void unary_isRefusedWithoutAStackTrace(String name) {
    var method = method(name, MethodType.UNARY);
    try (CapturedLog log = new CapturedLog()) {
      Status status =
          KeyedServer.statusOf(
              () ->
                  ClientCalls.blockingUnaryCall(
                      server.channel, method, CallOptions.DEFAULT, MALFORMED));
      assertRefused(status, name);
      assertThat(log.text()).doesNotContain("\tat ");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sluice.v1.Queues/EnqueueStream",
        "sluice.v1.Queues/Consume",
        "sluice.v1.Limits/DecideStream"
      })
  void stream_isRefusedWithoutAStackTrace(String name) throws Exception {
    var call = server.channel.newCall(method(name, MethodType.BIDI_STREAMING), CallOptions.DEFAULT);
    Recorded<byte[]> answers = new Recorded<>();
    try (CapturedLog log = new CapturedLog()) {
      StreamObserver<byte[]> requests = ClientCalls.asyncBidiStreamingCall(call, answers);
      requests.onNext(MALFORMED);
      requests.onNext(new byte[0]);
      assertRefused(answers.end(), name);
      assertThat(log.text()).doesNotContain("\tat ");
    }
  }

  @Test
  void validRequest_isAccepted() {
    var method = method("sluice.v1.Queues/ListQueues", MethodType.UNARY);
    byte[] answer =
        ClientCalls.blockingUnaryCall(server.channel, method, CallOptions.DEFAULT, new byte[0]);
    assertThat(answer).isNotEmpty();
  }
}
