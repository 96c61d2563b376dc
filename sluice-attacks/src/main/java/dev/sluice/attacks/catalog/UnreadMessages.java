package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;

/** Has large messages delivered on many streams, and reads none of them. */
final class UnreadMessages extends Attack {
  private static final String NAME = Target.TENANT + "unread";
  private static final int MESSAGES = 24;
  private static final int PAYLOAD_BYTES = 256 << 10;
  private static final int CONNECTIONS = 8;
  private static final int STREAMS = 20;

  UnreadMessages() {
    super("unread-messages", Family.CONNECTIONS, Access.TENANT_KEY, Bounds.of(100, 64, 32));
  }

  @Override
  void run(Attempt attempt) throws IOException, InterruptedException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      String queue =
          "{\"name\":\"%s\",\"config\":{\"durability\":\"OS\",\"lease_timeout_ms\":1000}}";
      client.call("POST", "/v1/queues", queue.formatted(NAME));
      String message = "{\"payload\":\"%s\"}".formatted("x".repeat(PAYLOAD_BYTES));
      for (int i = 0; i < MESSAGES; i++) {
        client.call("POST", "/v1/queues/%s/messages".formatted(NAME), message);
      }
    }
    attempt.repeat(CONNECTIONS, () -> receive(attempt));
  }

  private static void receive(Attempt attempt) throws IOException, InterruptedException {
    byte[] receive = new Proto().text(1, NAME).number(2, 1_000).number(3, 1_000).encode();
    byte[] consume = new Proto().message(1, new Proto().text(1, NAME).number(2, 1_000)).encode();
    try (Http2 connection = attempt.grpc()) {
      for (int i = 0; i < STREAMS; i++) {
        boolean stream = i % 2 == 0;
        int number = connection.newStream();
        String path = stream ? Grpc.CONSUME : Grpc.RECEIVE;
        connection.headers(number, false, Grpc.headers(path, attempt.key()));
        connection.data(number, !stream, Grpc.message(stream ? consume : receive));
      }
      attempt.pause(1_500);
    }
  }
}
