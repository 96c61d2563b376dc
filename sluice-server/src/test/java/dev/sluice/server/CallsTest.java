package dev.sluice.server;

import dev.sluice.proto.v1.PurgeQueueRequest;
import dev.sluice.proto.v1.PurgeQueueResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.UnaryCalls;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Every call is answered. */
final class CallsTest {
  /** Its answers cannot be made. */
  private static final class Broken extends QueuesGrpc.QueuesImplBase {
    @Override
    public void purgeQueue(PurgeQueueRequest request, StreamObserver<PurgeQueueResponse> call) {
      UnaryCalls.<String, PurgeQueueResponse>answerLater(
          call,
          caller -> CompletableFuture.completedFuture("done"),
          done -> {
            throw new IllegalStateException(done);
          });
    }
  }

  @Test
  void answerLater_withoutAValidResponse_isInternal() throws IOException {
    Server server =
        NettyServerBuilder.forPort(0)
            .addService(new Broken())
            .intercept(new AuthenticationInterceptor(KeyedServer.open(), AccountQuotas.openCalls()))
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    try {
      var queues = QueuesGrpc.newBlockingStub(channel).withDeadlineAfter(10, TimeUnit.SECONDS);
      TestServer.assertRefused(
          () -> queues.purgeQueue(PurgeQueueRequest.getDefaultInstance()),
          Status.Code.INTERNAL,
          "internal error");
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }
}
