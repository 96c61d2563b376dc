package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** Sends one request again and again that is large, or takes long to parse or to carry out. */
final class CostlyRequest extends Attack {
  private static final int CONNECTIONS = 6;

  /** Enough to fill the memory of one account. */
  private static final int MANY_CONNECTIONS = 32;

  /** Between two calls: small ones are no flood. */
  private static final long PAUSE_MS = 10;

  private final int connections;
  private final boolean overGrpc;
  private final String path;
  private final Supplier<byte[]> body;
  private byte[] request = {};

  private CostlyRequest(
      String name,
      Family family,
      Access access,
      boolean overGrpc,
      String path,
      Supplier<byte[]> body) {
    super(
        name,
        family,
        access,
        family == Family.MEMORY ? Bounds.of(400, 512, 64) : Bounds.of(200, 256, 64));
    this.connections = family == Family.MEMORY ? MANY_CONNECTIONS : CONNECTIONS;
    this.overGrpc = overGrpc;
    this.path = path;
    this.body = body;
  }

  static CostlyRequest http(String name, Access access, String path, Supplier<byte[]> body) {
    return new CostlyRequest(name, Family.PROCESSOR, access, false, path, body);
  }

  static CostlyRequest grpc(String name, Access access, String path, Supplier<byte[]> body) {
    return new CostlyRequest(name, Family.PROCESSOR, access, true, path, body);
  }

  /** Makes an attack by what the server holds for many such requests at once. */
  static CostlyRequest manyHttp(String name, String path, Supplier<byte[]> body) {
    return new CostlyRequest(name, Family.MEMORY, Access.TENANT_KEY, false, path, body);
  }

  /** As {@link #manyHttp}, over gRPC. */
  static CostlyRequest manyGrpc(String name, String path, Supplier<byte[]> body) {
    return new CostlyRequest(name, Family.MEMORY, Access.TENANT_KEY, true, path, body);
  }

  @Override
  void prepare() {
    request = body.get();
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(connections, () -> call(attempt));
  }

  private void call(Attempt attempt) throws IOException, InterruptedException {
    if (overGrpc) {
      callGrpc(attempt);
    } else {
      callHttp(attempt);
    }
  }

  private void callHttp(Attempt attempt) throws IOException, InterruptedException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      while (attempt.isRunning()) {
        String head = HttpClient.head("POST", path, attempt.key(), request.length);
        client.send(head.getBytes(StandardCharsets.US_ASCII));
        client.send(request);
        if (client.readReply().status() >= 400) {
          attempt.countRefused();
        }
        attempt.pause(PAUSE_MS);
      }
    }
  }

  private void callGrpc(Attempt attempt) throws IOException, InterruptedException {
    try (GrpcClient client = attempt.grpcClient(attempt.key())) {
      while (attempt.isRunning()) {
        int stream = client.open(path);
        client.send(stream, Grpc.message(request), true);
        if (client.await(stream).status() != 0) {
          attempt.countRefused();
        }
        attempt.pause(PAUSE_MS);
      }
    }
  }
}
