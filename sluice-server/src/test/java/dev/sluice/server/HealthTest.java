package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import dev.sluice.server.grpc.HealthCallLimiter;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** gRPC's own services: health without a key, reflection with one. */
@Timeout(60)
final class HealthTest {
  @TempDir private Path dir;

  private static HealthCheckRequest of(String service) {
    return HealthCheckRequest.newBuilder().setService(service).build();
  }

  @Test
  void health_isReportedForTheServerAndEachService() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      var health = HealthGrpc.newBlockingStub(server.channel);
      for (String name : new String[] {"", "sluice.v1.Queues", "sluice.v1.Limits"}) {
        assertThat(health.check(of(name)).getStatus()).as(name).isEqualTo(ServingStatus.SERVING);
      }
      assertRefused(() -> health.check(of("no.such")), Status.Code.NOT_FOUND, "");
    }
  }

  @Test
  void watch_reportsThatTheServerCloses() throws Exception {
    Recorded<HealthCheckResponse> watched = new Recorded<>();
    try (TestServer server = TestServer.start(dir)) {
      HealthGrpc.newStub(server.channel).watch(of(""), watched);
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.SERVING);
      server.server.close();
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(watched.end().isOk()).isFalse();
    }
  }

  @Test
  void keys_areNeededForReflectionAndNotForHealth() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      var health = HealthGrpc.newBlockingStub(server.with(null));
      assertThat(health.check(of("")).getStatus()).isEqualTo(ServingStatus.SERVING);
      Recorded<ServerReflectionResponse> refused = new Recorded<>();
      ask(ServerReflectionGrpc.newStub(server.with(null)), refused);
      assertThat(refused.end().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
      Recorded<ServerReflectionResponse> known = new Recorded<>();
      ask(ServerReflectionGrpc.newStub(server.with("Bearer " + KeyedServer.BOOTSTRAP)), known);
      assertThat(known.next().getListServicesResponse().getServiceList())
          .extracting(ServiceResponse::getName)
          .contains("sluice.v1.Queues", "fila.v1.FilaService", "grpc.health.v1.Health");
    }
  }

  private static void ask(
      ServerReflectionGrpc.ServerReflectionStub stub, Recorded<ServerReflectionResponse> answers) {
    var requests = stub.serverReflectionInfo(answers);
    requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    requests.onCompleted();
  }

  @Test
  void reflection_describesAService() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      Recorded<ServerReflectionResponse> answers = new Recorded<>();
      var requests = ServerReflectionGrpc.newStub(server.channel).serverReflectionInfo(answers);
      requests.onNext(
          ServerReflectionRequest.newBuilder().setFileContainingSymbol("sluice.v1.Queues").build());
      var files = answers.next().getFileDescriptorResponse().getFileDescriptorProtoList();
      requests.onCompleted();
      assertThat(FileDescriptorProto.parseFrom(files.get(0)).getServiceList())
          .anySatisfy(service -> assertThat(service.getName()).isEqualTo("Queues"));
      assertThat(answers.end()).isEqualTo(Status.OK);
    }
  }

  @Test
  void largeRequest_isRefusedAndNotEchoed() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      var health = HealthGrpc.newBlockingStub(server.channel);
      Status known = KeyedServer.statusOf(() -> health.check(of("secret-name")));
      assertThat(known.getCode()).isEqualTo(Status.Code.NOT_FOUND);
      assertThat(known.getDescription()).doesNotContain("secret-name");
      HealthCheckRequest large = of("n".repeat(2_000));
      assertRefused(() -> health.check(large), Status.Code.RESOURCE_EXHAUSTED, "1024");
      assertRefused(() -> health.watch(large).next(), Status.Code.RESOURCE_EXHAUSTED, "1024");
    }
  }

  @Test
  void watch_ofAnUnknownService_isServiceUnknown() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      Recorded<HealthCheckResponse> watched = new Recorded<>();
      HealthGrpc.newStub(server.channel).watch(of("no.such"), watched);
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.SERVICE_UNKNOWN);
    }
  }

  @Test
  void watches_areBoundedByConnection() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      for (int i = 0; i < HealthCallLimiter.MAX_OF_A_CONNECTION; i++) {
        Recorded<HealthCheckResponse> watched = new Recorded<>();
        HealthGrpc.newStub(server.channel).watch(of(""), watched);
        assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.SERVING);
      }
      var health = HealthGrpc.newBlockingStub(server.channel);
      assertRefused(() -> health.check(of("")), Status.Code.RESOURCE_EXHAUSTED, "health calls");
      ManagedChannel another =
          NettyChannelBuilder.forAddress("127.0.0.1", server.server.grpcPort())
              .usePlaintext()
              .build();
      try {
        var other = HealthGrpc.newBlockingStub(another);
        for (int i = 0; i < 100; i++) {
          assertThat(other.check(of("")).getStatus()).isEqualTo(ServingStatus.SERVING);
        }
      } finally {
        another.shutdownNow();
      }
    }
  }
}
