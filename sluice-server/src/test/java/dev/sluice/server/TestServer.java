package dev.sluice.server;

import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Path;

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
    return new TestServer(SluiceServer.start(ServerConfig.defaults(dir).withPorts(0)));
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

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }
}
