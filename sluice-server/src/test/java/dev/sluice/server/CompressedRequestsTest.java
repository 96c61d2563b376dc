package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.Message;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nothing that a client compresses is unpacked. */
@Timeout(60)
final class CompressedRequestsTest {
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

  @Test
  void compressedCalls_areUnimplemented() {
    EnqueueRequest request =
        EnqueueRequest.newBuilder()
            .setQueue("q")
            .addMessages(Message.newBuilder().setPayload(ByteString.copyFrom(new byte[10_000])))
            .build();
    var queues = server.queues();
    assertThat(KeyedServer.codeOf(() -> queues.withCompression("gzip").enqueue(request)))
        .isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(queues.withCompression("identity").enqueue(request).getIdsCount()).isEqualTo(1);
    var health = HealthGrpc.newBlockingStub(server.channel).withCompression("gzip");
    HealthCheckRequest all = HealthCheckRequest.getDefaultInstance();
    assertThat(KeyedServer.codeOf(() -> health.check(all))).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(KeyedServer.codeOf(() -> health.watch(all).next()))
        .isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  private static HttpProbe.Reply post(String coding) {
    HttpProbe http = new HttpProbe(server.server.httpPort());
    return http.send(
        http.request("/v1/queues/q/messages")
            .header("Content-Encoding", coding)
            .POST(BodyPublishers.ofString("{\"payload\":\"x\"}")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate", "br", "identity, gzip", "GZIP"})
  void compressedBodies_areUnsupported(String coding) {
    HttpProbe.Reply refused = post(coding);
    assertThat(refused.status()).isEqualTo(415);
    assertThat(refused.message()).contains("Content-Encoding");
  }

  @Test
  void plainBodies_areAccepted() {
    assertThat(post("identity").status()).isEqualTo(200);
  }
}
