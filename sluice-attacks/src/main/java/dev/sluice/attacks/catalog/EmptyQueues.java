package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Asks for work on the messages of an empty queue, many calls at a time, while another queue has
 * many messages: a server that looks for the former among all does nothing else.
 */
final class EmptyQueues extends Attack {
  private static final String EMPTY = Target.TENANT + "empty";
  private static final String FULL = Target.TENANT + "full";
  private static final int BATCHES = 20;
  private static final int MESSAGES = 5_000;
  private static final int CONNECTIONS = 4;
  private static final int AT_ONCE = 250;
  private static final long PAUSE_MS = 10;

  private final String path;
  private final byte[] request;

  private EmptyQueues(String name, String path, String queue) {
    super(name, Family.PROCESSOR, Access.TENANT_KEY, Bounds.of(200, 64, 32));
    this.path = path;
    this.request = Grpc.message(new Proto().text(1, queue).encode());
  }

  static EmptyQueues redrives() {
    return new EmptyQueues("empty-redrives", Grpc.REDRIVE, EMPTY + ".dlq");
  }

  static EmptyQueues purges() {
    return new EmptyQueues("empty-purges", Grpc.PURGE, EMPTY);
  }

  @Override
  void prepare(Attempt attempt) throws IOException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      String config = "{\"name\":\"%s\",\"config\":{\"durability\":\"OS\"}}";
      client.call("POST", "/v1/queues", config.formatted(EMPTY));
      if (client.call("POST", "/v1/queues", config.formatted(FULL)).status() >= 300) {
        return; // The queue exists already, with its messages.
      }
      String batch = String.join(",", Collections.nCopies(MESSAGES, "{\"payload\":\"\"}"));
      for (int i = 0; i < BATCHES; i++) {
        client.call(
            "POST", "/v1/queues/%s/messages".formatted(FULL), "{\"messages\":[" + batch + "]}");
      }
    }
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS, () -> call(attempt));
  }

  private void call(Attempt attempt) throws IOException, InterruptedException {
    try (GrpcClient client = attempt.grpcClient(attempt.key())) {
      while (attempt.isRunning()) {
        List<Integer> streams = new ArrayList<>();
        for (int i = 0; i < AT_ONCE; i++) {
          int stream = client.open(path);
          client.send(stream, request, true);
          streams.add(stream);
        }
        for (int stream : streams) {
          if (client.await(stream).status() != 0) {
            attempt.countRefused();
          }
        }
        attempt.pause(PAUSE_MS);
      }
    }
  }
}
