package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Metrics of requests, streams, connections and decisions. */
@Tag("any-jdk")
@Timeout(60)
final class RequestMetersTest {
  @TempDir private Path dir;
  private TestServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private double value(String series) {
    return Scrape.of(http).value(series);
  }

  /** A call is counted when it is over, which its client may learn before. */
  private void awaitValue(String series, double value) {
    await().until(() -> value(series) == value);
  }

  private static String requests(String code, String method, String protocol) {
    return "sluice_requests_seconds_count{code=\"%s\",method=\"%s\",protocol=\"%s\"}"
        .formatted(code, method, protocol);
  }

  @Test
  void requests_areCounted_byMethodAndCode() {
    server.queues().listQueues(ListQueuesRequest.getDefaultInstance());
    TestServer.assertRefused(
        () -> server.queues().getQueue(GetQueueRequest.newBuilder().setName("absent").build()),
        Status.Code.NOT_FOUND,
        "absent");
    http.get("/v1/queues/absent");
    http.get("/v1/queues/missing");
    http.get("/v1/queues");
    awaitValue(requests("OK", "sluice.v1.Queues/ListQueues", "grpc"), 1);
    awaitValue(requests("NOT_FOUND", "sluice.v1.Queues/GetQueue", "grpc"), 1);
    awaitValue(requests("404", "GET /v1/queues/{queue}", "http"), 2);
    awaitValue(requests("200", "GET /v1/queues", "http"), 1);
  }

  @Test
  void requestsOfUnknownMethods_shareOneSeries() {
    for (int i = 0; i < 5; i++) {
      MethodDescriptor<GetQueueRequest, ?> madeUp =
          QueuesGrpc.getGetQueueMethod().toBuilder()
              .setFullMethodName("sluice.v1.Queues/MadeUp" + i)
              .build();
      TestServer.assertRefused(
          () ->
              ClientCalls.blockingUnaryCall(
                  server.channel,
                  madeUp,
                  CallOptions.DEFAULT,
                  GetQueueRequest.getDefaultInstance()),
          Status.Code.UNIMPLEMENTED,
          "no such method");
      http.get("/MadeUp/" + i);
      http.send(http.request("/v1/queues").method("MADEUP" + i, BodyPublishers.noBody()));
    }
    awaitValue(requests("UNIMPLEMENTED", "other", "grpc"), 5);
    awaitValue(requests("404", "other", "http"), 5);
    awaitValue(requests("405", "other", "http"), 5);
    assertThat(Scrape.of(http).series().keySet()).noneMatch(each -> each.matches("(?i).*madeup.*"));
  }

  /** gRPC refuses these before any interceptor sees them, and reports no end of the first. */
  @Test
  void streamsThatGrpcRefuses_areNotOpen() throws Exception {
    String path = "/sluice.v1.Queues/EnqueueStream";
    String method = "method=\"sluice.v1.Queues/EnqueueStream\",protocol=\"grpc\"}";
    try (RawHttp2 connection = new RawHttp2(server.server.grpcPort())) {
      connection.send(RawHttp2.open(1, path, "grpc-timeout", "x"));
      connection.send(RawHttp2.open(3, path, "grpc-encoding", "unknown"));
      awaitValue("sluice_streams_ended_total{code=\"UNIMPLEMENTED\"," + method, 1);
    }
    assertThat(Scrape.of(http).value("sluice_streams_open{" + method)).isZero();
  }

  @Test
  void streams_areCountedAtTheirEnd_andHaveNoTime() throws Exception {
    String ofCall = "method=\"sluice.v1.Limits/DecideStream\",protocol=\"grpc\"}";
    String ofEvents = "method=\"GET /v1/events\",protocol=\"http\"}";
    Recorded<DecideStreamResponse> answers = new Recorded<>();
    StreamObserver<DecideStreamRequest> stream =
        LimitsGrpc.newStub(server.channel).decideStream(answers);
    InputStream events =
        http.client().send(http.request("/v1/events").build(), BodyHandlers.ofInputStream()).body();
    awaitValue("sluice_streams_open{" + ofCall, 1);
    awaitValue("sluice_streams_open{" + ofEvents, 1);
    stream.onCompleted();
    events.close();
    awaitValue("sluice_streams_ended_total{code=\"OK\"," + ofCall, 1);
    awaitValue("sluice_streams_ended_total{code=\"200\"," + ofEvents, 1);
    Scrape after = Scrape.of(http);
    assertThat(after.series())
        .containsEntry("sluice_streams_open{" + ofCall, 0.0)
        .containsEntry("sluice_streams_open{" + ofEvents, 0.0);
    assertThat(after.series().keySet())
        .noneMatch(each -> each.startsWith("sluice_requests") && each.contains("events"))
        .noneMatch(each -> each.startsWith("sluice_requests") && each.contains("Stream"));
  }

  @Test
  void connections_countOpenOnes() throws Exception {
    server.queues().listQueues(ListQueuesRequest.getDefaultInstance());
    assertThat(value("sluice_connections{protocol=\"grpc\"}")).isEqualTo(1);
    assertThat(value("sluice_connections{protocol=\"http\"}")).isPositive();
    server.channel.shutdownNow();
    awaitValue("sluice_connections{protocol=\"grpc\"}", 0);
  }

  private void decide(String key, int cost, boolean dryRun) {
    http.post("/v1/decide", "{\"costs\":{\"%s\":%d},\"peek\":%b}".formatted(key, cost, dryRun));
  }

  @Test
  void decisions_areCounted_byOutcome_butNotPeeks() {
    http.put("/v1/limits/slow", "{\"rate_per_second\":0.001,\"burst\":2}");
    http.put("/v1/limits/never", "{\"rate_per_second\":0,\"burst\":1}");
    for (int i = 0; i < 5; i++) {
      decide("slow", 1, false);
      decide("slow", 1, true);
      decide("never", 1, false);
    }
    decide("slow", 3, false);
    decide("absent", 1, false);
    Scrape scrape = Scrape.of(http);
    assertThat(scrape.series())
        .containsEntry("sluice_limits_decisions_total{outcome=\"granted\"}", 3.0)
        .containsEntry("sluice_limits_decisions_total{outcome=\"denied\"}", 3.0)
        .containsEntry("sluice_limits_decisions_total{outcome=\"depleted\"}", 4.0)
        .containsEntry("sluice_limits_decisions_total{outcome=\"impossible\"}", 1.0);
  }
}
