package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.GetServerInfoRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.TraceCollector.Span;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.TracingInterceptor;
import dev.sluice.server.telemetry.Tracing;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Traces, as a collector gets them. */
@Tag("any-jdk")
@Timeout(60)
final class TracingTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String PARENT = "b7ad6b7169203331";
  private static final String CONTEXT = "00-%s-%s-01".formatted(TRACE, PARENT);

  @TempDir Path dir;

  private ServerConfig config(URI endpoint) {
    return ServerConfig.defaults(dir)
        .withListen(ListenConfig.ANYWHERE)
        .withTelemetry(new TelemetryConfig(endpoint, "test"));
  }

  /** Returns the spans of a collector after {@code calls} and the close of the server. */
  private List<Span> spansOf(Consumer<SluiceServer> calls) throws IOException {
    try (TraceCollector collector = new TraceCollector()) {
      try (SluiceServer server = SluiceServer.start(config(collector.endpoint()))) {
        calls.accept(server);
      }
      return collector.spans();
    }
  }

  private static void withChannel(SluiceServer server, Consumer<Channel> calls) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), CONTEXT);
    try {
      calls.accept(
          ClientInterceptors.intercept(
              channel, MetadataUtils.newAttachHeadersInterceptor(headers)));
    } finally {
      channel.shutdownNow();
    }
  }

  private static Span only(List<Span> spans, String name) {
    List<Span> found = spans.stream().filter(span -> span.name().equals(name)).toList();
    assertThat(found).as(spans.toString()).hasSize(1);
    return found.get(0);
  }

  @Test
  void request_continuesTheTraceOfItsCaller() throws Exception {
    List<Span> spans =
        spansOf(
            server -> {
              HttpProbe http = new HttpProbe(server.httpPort());
              http.post("/v1/queues", "{\"name\":\"q\"}");
              http.send(
                  http.request("/v1/queues/q/fairness-keys?prefix=secret")
                      .header("traceparent", CONTEXT));
              http.get("/v1/queues/none");
              http.get("/nowhere");
            });
    Span continued =
        spans.stream().filter(each -> each.trace().equals(TRACE)).findAny().orElseThrow();
    assertThat(continued.parent()).isEqualTo(PARENT);
    assertThat(continued.name()).isEqualTo("GET /v1/queues/{queue}/fairness-keys");
    assertThat(continued.attributes())
        .containsEntry("http.request.method", "GET")
        .containsEntry("http.route", "/v1/queues/{queue}/fairness-keys")
        .containsEntry("url.path", "/v1/queues/q/fairness-keys")
        .containsEntry("url.scheme", "http")
        .containsEntry("http.response.status_code", "[200]");
    assertThat(continued.toString()).doesNotContain("secret");
    assertThat(only(spans, "POST /v1/queues").parent()).isEmpty();
    assertThat(only(spans, "GET").attributes())
        .containsEntry("http.response.status_code", "[404]")
        .doesNotContainKey("http.route");
    assertThat(spans).hasSize(4).noneMatch(Span::error);
  }

  /** Spans wait in memory until the collector takes them, so callers do not choose their size. */
  @Test
  void longPathAndTraceState_areCutAndDropped() throws Exception {
    String state = "a=1," + "b=2,".repeat(200) + "c=3";
    List<Span> spans =
        spansOf(
            server -> {
              HttpProbe http = new HttpProbe(server.httpPort());
              http.send(
                  http.request("/" + "x".repeat(5_000))
                      .header("traceparent", CONTEXT)
                      .header("tracestate", state));
              http.send(
                  http.request("/short")
                      .header("traceparent", CONTEXT)
                      .header("tracestate", "a=1"));
            });
    assertThat(spans).hasSize(2);
    assertThat(spans.get(0).attributes().get("url.path")).hasSize(1_024);
    assertThat(spans.get(0).state()).isEmpty();
    assertThat(spans.get(1).state()).isEqualTo("a=1");
  }

  @Test
  void call_continuesTheTraceOfItsCaller_andRecordsItsStatus() throws Exception {
    List<Span> spans =
        spansOf(
            server ->
                withChannel(
                    server,
                    channel -> {
                      var info = GetServerInfoRequest.getDefaultInstance();
                      assertThat(AdminGrpc.newBlockingStub(channel).getServerInfo(info))
                          .isNotNull();
                      var none = GetQueueRequest.newBuilder().setName("none").build();
                      assertThat(
                              KeyedServer.codeOf(
                                  () -> QueuesGrpc.newBlockingStub(channel).getQueue(none)))
                          .isEqualTo(Status.Code.NOT_FOUND);
                    }));
    Span info = only(spans, "sluice.v1.Admin/GetServerInfo");
    assertThat(info.trace()).isEqualTo(TRACE);
    assertThat(info.parent()).isEqualTo(PARENT);
    assertThat(info.attributes())
        .containsEntry("rpc.system", "grpc")
        .containsEntry("rpc.service", "sluice.v1.Admin")
        .containsEntry("rpc.method", "GetServerInfo")
        .containsEntry("rpc.grpc.status_code", "[0]");
    Span none = only(spans, "sluice.v1.Queues/GetQueue");
    assertThat(none.attributes()).containsEntry("rpc.grpc.status_code", "[5]");
    assertThat(none.error()).isFalse();
  }

  @Test
  void stream_isOneSpan_andAClosingServerAnError() throws Exception {
    Recorded<ConsumeResponse> answers = new Recorded<>();
    List<Span> spans =
        spansOf(
            server -> {
              new HttpProbe(server.httpPort()).post("/v1/queues", "{\"name\":\"q\"}");
              ManagedChannel channel =
                  NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort())
                      .usePlaintext()
                      .build();
              StreamObserver<ConsumeRequest> requests =
                  QueuesGrpc.newStub(channel).consume(answers);
              requests.onNext(
                  ConsumeRequest.newBuilder()
                      .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(1))
                      .build());
              try {
                assertThat(answers.next().hasOpened()).isTrue();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              server.close();
              channel.shutdownNow();
            });
    Span stream = only(spans, "sluice.v1.Queues/Consume");
    assertThat(stream.attributes()).containsEntry("rpc.grpc.status_code", "[14]");
    assertThat(stream.error()).isTrue();
    assertThat(answers.end().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
  }

  @Test
  void refusedCallers_areTraced() throws Exception {
    try (TraceCollector collector = new TraceCollector()) {
      ServerConfig config = config(collector.endpoint()).withBootstrapKey("secret-of-the-test");
      try (SluiceServer server = SluiceServer.start(config)) {
        assertThat(new HttpProbe(server.httpPort()).get("/v1/info").status()).isEqualTo(401);
        withChannel(
            server,
            channel -> {
              var info = GetServerInfoRequest.getDefaultInstance();
              assertThat(
                      KeyedServer.codeOf(
                          () -> AdminGrpc.newBlockingStub(channel).getServerInfo(info)))
                  .isEqualTo(Status.Code.UNAUTHENTICATED);
            });
      }
      assertThat(only(collector.spans(), "GET /v1/info").attributes())
          .containsEntry("http.response.status_code", "[401]");
      assertThat(only(collector.spans(), "sluice.v1.Admin/GetServerInfo").attributes())
          .containsEntry("rpc.grpc.status_code", "[16]");
    }
  }

  @Test
  void aCollectorThatIsDownOrSilent_delaysNoRequest() throws Exception {
    URI down;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      down = URI.create("http://127.0.0.1:" + free.getLocalPort());
    }
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      for (URI endpoint : List.of(down, URI.create("http://127.0.0.1:" + silent.getLocalPort()))) {
        try (SluiceServer server = SluiceServer.start(config(endpoint))) {
          HttpProbe http = new HttpProbe(server.httpPort());
          for (int i = 0; i < 200; i++) {
            assertThat(http.get("/healthz").status()).isEqualTo(200);
          }
        }
      }
    }
  }

  @Test
  void off_addsNoInterceptor() {
    assertThat(Tracing.of(TelemetryConfig.NONE)).isSameAs(Tracing.OFF);
    AuthenticationInterceptor access =
        new AuthenticationInterceptor(KeyedServer.open(), AccountQuotas.openCalls());
    assertThat(TracingInterceptor.around(access, Tracing.OFF)).isSameAs(access);
  }
}
