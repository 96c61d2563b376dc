package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;

/** A server on a port of its own, and a client of it. */
final class TestServer implements AutoCloseable {
  final SluiceServer server;
  final ManagedChannel channel;

  private TestServer(SluiceServer server) {
    this.server = server;
    this.channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
  }

  static TestServer start(Path dir) throws IOException {
    return start(ServerConfig.defaults(dir));
  }

  /** On any port. */
  static TestServer start(ServerConfig config) throws IOException {
    return new TestServer(SluiceServer.start(config.withListen(ListenConfig.ANYWHERE)));
  }

  /** Returns when limits are decided in Redis. */
  void awaitRedis() {
    HttpProbe http = new HttpProbe(server.httpPort());
    Awaitility.await().until(() -> Scrape.of(http).value("sluice_limits_redis_available") == 1);
  }

  QueuesGrpc.QueuesBlockingStub queues() {
    return QueuesGrpc.newBlockingStub(channel);
  }

  LimitsGrpc.LimitsBlockingStub limits() {
    return LimitsGrpc.newBlockingStub(channel);
  }

  void createQueue(String name) {
    createQueue(name, QueueConfig.getDefaultInstance());
  }

  void createQueue(String name, QueueConfig config) {
    queues().createQueue(CreateQueueRequest.newBuilder().setName(name).setConfig(config).build());
  }

  /** {@code call} fails so, in these words. */
  static void assertRefused(ThrowingCallable call, Status.Code code, String words) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StatusRuntimeException.class, e -> assertThat(e.getStatus().getCode()).isEqualTo(code))
        .hasMessageContaining(words);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }
}
