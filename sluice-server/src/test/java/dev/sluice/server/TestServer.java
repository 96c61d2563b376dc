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
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;

/** A server on a port of its own, and a channel to it. */
public final class TestServer implements AutoCloseable {
  public final SluiceServer server;
  final ManagedChannel channel;

  private TestServer(SluiceServer server) {
    this.server = server;
    this.channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
  }

  /** Starts a server on any port. */
  public static TestServer start(Path dir) throws IOException {
    return start(dir, 0);
  }

  /** Starts a server with gRPC on a port, 0 for any. */
  public static TestServer start(Path dir, int port) throws IOException {
    return start(ServerConfig.defaults(dir), port);
  }

  /** Starts a server on any port. */
  static TestServer start(ServerConfig config) throws IOException {
    return start(config, 0);
  }

  /** Starts a server that governs models as {@code budgets}, the text of a file, says. */
  public static TestServer startGoverned(Path dir, int port, String budgets) throws IOException {
    Path file = dir.resolve("token-budget.json");
    Files.writeString(file, budgets);
    return start(ServerConfig.defaults(dir.resolve("data")).withGovernorFile(file), port);
  }

  private static TestServer start(ServerConfig config, int port) throws IOException {
    return new TestServer(
        SluiceServer.start(config.withListen(ListenConfig.ANYWHERE.withGrpcPort(port))));
  }

  public int grpcPort() {
    return server.grpcPort();
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
