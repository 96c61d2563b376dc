package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.util.Arrays;

/**
 * Begins calls and never ends them: some lack their last byte, the others only the mark that there
 * is no further message. Large ones first, then smaller ones into what room is left, so that
 * nothing is left for others.
 */
final class UnfinishedCalls extends Attack {
  private static final int CONNECTIONS = 6;
  private static final int[] SIZES = {1 << 20, 64 << 10, 4 << 10, 200};

  /** Calls of each size on one connection. */
  private static final int MOST = 24;

  private static final int REFUSALS = 3;

  private final String path;

  UnfinishedCalls(String name, Access access, String path) {
    super(name, Family.BUDGETS, access, Bounds.of(100, 256, 96));
    this.path = path;
  }

  private byte[] request(int size) {
    Proto padding = new Proto().bytes(1, new byte[size]);
    Proto enqueue = new Proto().text(1, Attacks.QUEUE).message(2, padding);
    return Grpc.message((path.equals(Grpc.HEALTH_CHECK) ? padding : enqueue).encode());
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(CONNECTIONS, number -> attempt.repeat(1, () -> fill(attempt, number)));
  }

  private void fill(Attempt attempt, int number) throws IOException, InterruptedException {
    String key = access() == Access.TENANT_KEY ? attempt.tenantKey(number) : attempt.key();
    try (GrpcClient client = attempt.grpcClient(key)) {
      for (int size : SIZES) {
        fill(attempt, client, request(size));
      }
      while (attempt.isRunning()) {
        fill(attempt, client, request(SIZES[SIZES.length - 1]));
        attempt.pause(50);
      }
    }
  }

  private void fill(Attempt attempt, GrpcClient client, byte[] request)
      throws IOException, InterruptedException {
    int refusals = 0;
    for (int i = 0; i < MOST && refusals < REFUSALS && attempt.isRunning(); i++) {
      int stream = client.open(path);
      byte[] sent = i % 2 == 0 ? Arrays.copyOf(request, request.length - 1) : request;
      client.send(stream, sent, false);
      attempt.pause(1);
      refusals += client.hasEnded(stream) ? 1 : 0;
    }
  }
}
