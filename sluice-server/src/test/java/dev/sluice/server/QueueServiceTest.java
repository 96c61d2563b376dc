package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.NewMessage;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.ReceiveResponse;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.Settlement;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class QueueServiceTest {
  @TempDir Path dir;

  @Test
  void message_goesInAndOut() throws Exception {
    try (SluiceServer server = SluiceServer.start(ServerConfig.defaults(dir).withPorts(0))) {
      ManagedChannel channel =
          NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
      var queues = QueuesGrpc.newBlockingStub(channel);
      queues.createQueue(CreateQueueRequest.newBuilder().setName("q").build());
      queues.enqueue(
          EnqueueRequest.newBuilder()
              .setQueue("q")
              .addMessages(NewMessage.newBuilder().setPayload(ByteString.copyFromUtf8("hello")))
              .build());
      ReceiveResponse received =
          queues.receive(ReceiveRequest.newBuilder().setQueue("q").setWaitMs(1_000).build());
      assertThat(received.getDeliveriesCount()).isEqualTo(1);
      var delivery = received.getDeliveries(0);
      assertThat(delivery.getPayload().toStringUtf8()).isEqualTo("hello");
      var settled =
          queues.settle(
              SettleRequest.newBuilder()
                  .setQueue("q")
                  .addSettlements(
                      Settlement.newBuilder()
                          .setId(delivery.getId())
                          .setLease(delivery.getLease())
                          .setAck(Settlement.Ack.getDefaultInstance()))
                  .build());
      assertThat(settled.getResults(0).hasError()).isFalse();
      channel.shutdownNow();
    }
  }
}
