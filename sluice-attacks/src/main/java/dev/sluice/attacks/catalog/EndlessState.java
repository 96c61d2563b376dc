package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;

/** Makes one thing after another that the server keeps, until it refuses. */
final class EndlessState extends Attack {
  private static final int CONNECTIONS = 4;
  private static final int SCRIPT_BYTES = 60_000;

  private static final long PAUSE_MS = 2;

  /** Refusals in a row after which there is no hope. */
  private static final int HOPELESS = 20;

  private final String method;
  private final IntFunction<String> path;
  private final IntFunction<String> body;

  private EndlessState(
      String name, String method, IntFunction<String> path, IntFunction<String> body) {
    super(name, Family.STATE, Access.TENANT_KEY, Bounds.of(40, 192, 24));
    this.method = method;
    this.path = path;
    this.body = body;
  }

  static EndlessState scriptQueues() {
    String script = "--" + "x".repeat(SCRIPT_BYTES);
    String name = "%squeue%d-" + System.nanoTime();
    return new EndlessState(
        "script-queues",
        "POST",
        i -> "/v1/queues",
        i ->
            "{\"name\":\"%s\",\"config\":{\"durability\":\"OS\",\"on_failure\":\"%s\"}}"
                .formatted(name.formatted(Target.TENANT, i), script));
  }

  static EndlessState keys() {
    return new EndlessState(
        "api-keys",
        "POST",
        i -> "/v1/api-keys",
        i ->
            "{\"name\":\"k%d\",\"permissions\":[{\"kind\":\"produce\",\"pattern\":\"%sq\"}]}"
                .formatted(i, Target.TENANT));
  }

  static EndlessState limits() {
    return new EndlessState(
        "limits",
        "PUT",
        i -> "/v1/limits/%slimit%d".formatted(Target.TENANT, i),
        i -> "{\"rate_per_second\":1,\"burst\":1}");
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    AtomicInteger made = new AtomicInteger();
    AtomicInteger refusals = new AtomicInteger();
    attempt.repeat(CONNECTIONS, () -> make(attempt, made, refusals));
  }

  private void make(Attempt attempt, AtomicInteger made, AtomicInteger refusals)
      throws IOException, InterruptedException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      while (attempt.isRunning()) {
        int number = made.incrementAndGet();
        if (client.call(method, path.apply(number), body.apply(number)).status() < 400) {
          refusals.set(0);
        } else {
          attempt.countRefused();
          attempt.pause(refusals.incrementAndGet() > HOPELESS ? 100 : 0);
        }
        attempt.pause(PAUSE_MS);
      }
    }
  }
}
