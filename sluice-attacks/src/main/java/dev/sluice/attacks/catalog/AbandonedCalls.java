package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import java.io.IOException;

/**
 * Sends large batches of settlements and closes the connection before they are answered: a server
 * that forgets calls with their connection goes on working for all of them at once.
 */
final class AbandonedCalls extends Attack {
  private static final int THREADS = 8;
  private static final int CALLS = 4;

  private byte[] request = {};

  AbandonedCalls() {
    super("abandoned-nacks", Family.MEMORY, Access.TENANT_KEY, Bounds.of(2_000, 1_024, 128));
  }

  @Override
  void prepare() {
    request = Grpc.message(Bodies.protoNacks());
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(THREADS, () -> abandon(attempt));
  }

  private void abandon(Attempt attempt) throws IOException {
    try (GrpcClient client = attempt.grpcClient(attempt.key())) {
      for (int i = 0; i < CALLS && attempt.isRunning(); i++) {
        client.send(client.open(Grpc.SETTLE), request, true);
      }
    }
  }
}
