package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that answer gRPC alone. */
@Timeout(60)
final class HttpOffTest {
  @TempDir private Path dir;

  private SluiceServer start(String name, int httpPort) throws IOException {
    return SluiceServer.start(
        ServerConfig.defaults(dir.resolve(name))
            .withListen(new ListenConfig("127.0.0.1", 0, httpPort)));
  }

  private static void assertServes(SluiceServer server) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
    try {
      var unused =
          QueuesGrpc.newBlockingStub(channel)
              .createQueue(CreateQueueRequest.newBuilder().setName("q").build());
      assertThat(
              HealthGrpc.newBlockingStub(channel)
                  .check(HealthCheckRequest.getDefaultInstance())
                  .getStatus())
          .isEqualTo(ServingStatus.SERVING);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void secondServer_onTheSameHttpPort_isRefusedWithTheSetting_andServesWithoutHttp()
      throws Exception {
    try (SluiceServer first = start("first", 0)) {
      int port = first.httpPort();
      assertThatThrownBy(() -> start("second", port))
          .isInstanceOf(IOException.class)
          .hasMessage(
              "cannot listen for HTTP on 127.0.0.1:%d: address already in use; set server.http_port"
                      .formatted(port)
                  + " (--http-port) to another port, or to off to serve gRPC alone");
      assertThat(dir.resolve("second")).doesNotExist();
      try (SluiceServer second = start("second", ListenConfig.OFF)) {
        assertThat(second.httpPort()).isEqualTo(ListenConfig.OFF);
        assertServes(second);
        assertServes(first);
      }
    }
  }

  @Test
  void off_hasNoConnections() throws Exception {
    try (SluiceServer server = start("data", ListenConfig.OFF)) {
      assertThat(server.httpPort()).isEqualTo(ListenConfig.OFF);
      assertThat(server.httpConnections()).isZero();
      assertThat(server.httpRequests()).isZero();
    }
  }

  @Test
  void listen_otherNegativePort_isRefused() {
    assertThatThrownBy(() -> new ListenConfig("127.0.0.1", 0, -2))
        .hasMessage("the port of HTTP must be from 0 to 65535, but was -2");
    assertThatThrownBy(() -> new ListenConfig("127.0.0.1", ListenConfig.OFF, 0))
        .hasMessage("the port of gRPC must be from 0 to 65535, but was -1");
  }
}
