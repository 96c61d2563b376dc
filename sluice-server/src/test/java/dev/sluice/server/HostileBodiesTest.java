package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.CodedOutputStream;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.Settlement;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.transport.RequestSizeLimits;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are dear to read: refused before they cost much, in short words. */
@Timeout(120)
final class HostileBodiesTest {
  /** The number of parts that fit into 1.2 MB. */
  private static final int NAMES = 24_000;

  private static final int PARTS = RequestSizeLimits.MAX_PARTS;

  @TempDir private static Path dir;
  private static TestServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    server = TestServer.start(dir);
    server.createQueue("q");
    http = new HttpProbe(server.server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static String object(List<String> names, String value) {
    return names.stream()
        .map(name -> "\"" + name + "\":" + value)
        .collect(Collectors.joining(",", "{", "}"));
  }

  @Test
  void headersWhoseNamesCollide_delayNoOther() {
    String body =
        "{\"payload\":\"x\",\"headers\":%s}".formatted(object(Collisions.names(NAMES), "\"\""));
    List<CompletableFuture<HttpProbe.Reply>> posts = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      posts.add(http.postLater("/v1/queues/q/messages", body));
    }
    assertThat(http.get("/v1/queues/q").status()).isEqualTo(200);
    for (CompletableFuture<HttpProbe.Reply> post : posts) {
      assertThat(post.join().message())
          .isEqualTo("headers must have at most 100 entries, but has 101 or more");
    }
  }

  /** Else they are kept in one table for all requests, in which hashes can be made to collide. */
  @Test
  void namesOfFields_areNotCanonicalized() {
    for (JsonMapper mapper : List.of(JsonCodec.MAPPER, JsonCodec.CAMEL)) {
      assertThat(mapper.getFactory().isEnabled(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES))
          .isFalse();
      assertThat(mapper.getFactory().isEnabled(JsonFactory.Feature.INTERN_FIELD_NAMES)).isFalse();
    }
  }

  @Test
  void costsWithoutEnd_areRefused() {
    String body = "{\"costs\":%s}".formatted(object(Collisions.names(500_000), "1"));
    HttpProbe.Reply reply = http.post("/v1/decide", body);
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.message()).isEqualTo(RequestSizeLimits.rule("costs"));
  }

  /** Each list and map is within its bound; all of them together are too much. */
  @Test
  void tokensWithoutEnd_areRefused() {
    String message =
        "{\"payload\":\"\",\"headers\":%s}".formatted(object(Collisions.names(100), "\"\""));
    String body =
        "{\"messages\":[%s]}".formatted(String.join(",", Collections.nCopies(1_300, message)));
    HttpProbe.Reply reply = http.post("/v1/queues/q/messages", body);
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.message()).contains("at most " + PARTS + " tokens");
  }

  @Test
  void settlementsWithoutEnd_areRefused() {
    SettleRequest.Builder request = SettleRequest.newBuilder().setQueue("q");
    Settlement one = Settlement.newBuilder().setId(new UUID(0, 0).toString()).build();
    IntStream.range(0, 100_000).forEach(i -> request.addSettlements(one));
    TestServer.assertRefused(
        () -> server.queues().settle(request.build()),
        Status.Code.INVALID_ARGUMENT,
        "settlements must have at most 10000 entries, but has 10001 or more");
  }

  /** Each id has the hash 0. */
  @Test
  void settlementsWhoseIdsCollide_areAnswered() {
    SettleRequest.Builder request = SettleRequest.newBuilder().setQueue("q");
    for (int i = 0; i < RequestSizeLimits.MAX_SETTLEMENTS; i++) {
      request.addSettlements(
          Settlement.newBuilder()
              .setId(new UUID(i, i).toString())
              .setLeaseToken("1.1")
              .setAck(Settlement.Ack.getDefaultInstance()));
    }
    assertThat(server.queues().settle(request.build()).getResultsList())
        .hasSize(RequestSizeLimits.MAX_SETTLEMENTS)
        .allSatisfy(each -> assertThat(each.getError().getMessage()).contains("not leased"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"payload\":\"x\",\"weight\":1e1000000000}",
        "{\"payload\":\"x\",\"delay_ms\":1e1000000000}",
        "{\"payload\":\"x\",\"weight\":1.0000000000000000000000000000000000000000001}",
      })
  void numbersThatAreExpensiveToConvert_areRefused(String body) {
    assertThat(http.post("/v1/queues/q/messages", body).message()).contains("must be");
  }

  @Test
  void errors_truncateUnknownNamesAndValues() {
    String long1 = "y".repeat(1_000);
    List<String> bodies =
        List.of(
            "{\"%s\":1}".formatted(long1),
            "{\"payload\":%s}".formatted(long1),
            "{\"weight\":\"%s\"}".formatted(long1),
            "{\"weight\":%s}".formatted("9".repeat(1_000)),
            "{\"payload\":\"x\",\"fairness_key\":\"%s\"}".formatted(long1),
            "[".repeat(1_000));
    for (String body : bodies) {
      HttpProbe.Reply reply = http.post("/v1/queues/q/messages", body);
      assertThat(reply.status()).as(body).isEqualTo(400);
      assertThat(reply.message()).hasSizeLessThan(330);
    }
    assertThat(http.get("/v1/queues/" + long1).message()).hasSizeLessThan(330);
  }

  // ---- what protobuf takes

  /** As it is. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      throw new AssertionError("nobody sends that");
    }
  }

  private static void assertRefused(byte[] request, String words) {
    MethodDescriptor<byte[], EnqueueResponse> method =
        QueuesGrpc.getEnqueueMethod().toBuilder(
                new Bytes(), QueuesGrpc.getEnqueueMethod().getResponseMarshaller())
            .build();
    TestServer.assertRefused(
        () -> ClientCalls.blockingUnaryCall(server.channel, method, CallOptions.DEFAULT, request),
        Status.Code.INVALID_ARGUMENT,
        words);
  }

  @Test
  void tooManyUnknownFields_areRefused() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    for (int i = 0; i <= PARTS; i++) {
      out.writeInt32(15, 1);
    }
    out.flush();
    assertRefused(bytes.toByteArray(), "a request must have at most " + PARTS + " fields");
  }

  @Test
  void nestedFields_count() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream inside = CodedOutputStream.newInstance(bytes);
    for (int i = 0; i <= PARTS; i++) {
      inside.writeInt32(15, 1);
    }
    inside.flush();
    ByteArrayOutputStream request = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(request);
    out.writeByteArray(2, bytes.toByteArray());
    out.flush();
    assertRefused(request.toByteArray(), "a request must have at most " + PARTS + " fields");
  }

  @Test
  void nestedGroups_areRefused() {
    byte[] groups = new byte[1 << 20];
    java.util.Arrays.fill(groups, (byte) (15 << 3 | 3));
    assertRefused(groups, "must be a protobuf message");
  }

  @Test
  void fewUnknownFields_areAccepted() throws IOException {
    EnqueueRequest request =
        EnqueueRequest.newBuilder()
            .setQueue("q")
            .addMessages(dev.sluice.proto.v1.Message.getDefaultInstance())
            .build();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    request.writeTo(bytes);
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.writeString(100, "of a newer client");
    out.flush();
    EnqueueResponse answer =
        ClientCalls.blockingUnaryCall(
            server.channel,
            QueuesGrpc.getEnqueueMethod().toBuilder(
                    new Bytes(), QueuesGrpc.getEnqueueMethod().getResponseMarshaller())
                .build(),
            CallOptions.DEFAULT,
            bytes.toByteArray());
    assertThat(answer.getIdsCount()).isEqualTo(1);
  }

  // ---- who may

  @Test
  void withoutPermission_theBodyIsNotRead(@TempDir Path other) throws IOException {
    try (KeyedServer keyed = new KeyedServer(other)) {
      String key = keyed.create("consume:other").getSecret();
      for (HttpRoute route : keyed.httpRoutes()) {
        if (route.takesBody()) {
          assertThat(answerToTheHead(keyed, route, key)).as(route.toString()).contains(" 403 ");
        }
      }
    }
  }

  /** Of a request whose body never comes. */
  private static String answerToTheHead(KeyedServer keyed, HttpRoute route, String key)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), keyed.httpPort())) {
      socket.setSoTimeout(20_000);
      String head =
          "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n"
              .formatted(route.method(), route.template().replaceAll("\\{\\w+}", "q"), key);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      byte[] line = socket.getInputStream().readNBytes(13);
      return new String(line, StandardCharsets.US_ASCII);
    }
  }
}
