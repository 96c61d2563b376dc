package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attacks;
import dev.sluice.attacks.catalog.Attempt;
import dev.sluice.attacks.catalog.Target;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Enqueues while unfinished requests fill the memory for requests, then drains the queue: a refused
 * call must not have stored its message, and an acknowledged one must have.
 */
public final class RefusedCalls {
  private static final List<String> PRESSURE =
      List.of("health-unfinished", "enqueue-unfinished", "slow-bodies");

  private static final String QUEUE = Target.TENANT + "refused";
  private static final String PATH = "/v1/queues/" + QUEUE;
  private static final int CLIENTS = 8;
  private static final int CALLS = 25;
  private static final int PADDING_BYTES = 128 << 10;
  private static final Duration PRESSURE_TIME = Duration.ofSeconds(3);
  private static final long BEFORE_CALLS_MS = 1_000;
  private static final int DRAIN_ROUNDS = 200;
  private static final Pattern DELIVERY =
      Pattern.compile("\"id\":\"([^\"]+)\",\"lease_token\":\"([^\"]+)\",\"payload\":\"([^-\"]+)-");

  /**
   * The counts.
   *
   * @param refused calls that were answered with an error
   * @param refusedExecuted refused calls whose message is stored
   * @param acknowledged calls that succeeded
   * @param lost acknowledged calls whose message is not stored
   */
  public record Result(int refused, int refusedExecuted, int acknowledged, int lost) {}

  private final AttackedServer server;
  private final Target target;
  private final Set<String> refused = ConcurrentHashMap.newKeySet();
  private final Set<String> acknowledged = ConcurrentHashMap.newKeySet();

  RefusedCalls(AttackedServer server, Target target) {
    this.server = server;
    this.target = target;
  }

  Result count() throws IOException, InterruptedException {
    try (HttpClient client = server.connectHttp(target.tenantKeys().get(0))) {
      client.call(
          "POST",
          "/v1/queues",
          "{\"name\":\"%s\",\"config\":{\"durability\":\"OS\"}}".formatted(QUEUE));
    }
    List<Thread> pressure = PRESSURE.stream().map(this::press).toList();
    Thread.sleep(BEFORE_CALLS_MS);
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      int number = i;
      clients.add(started(() -> enqueue(number)));
    }
    for (Thread each : clients) {
      each.join();
    }
    for (Thread each : pressure) {
      each.join();
    }
    return compare(drain());
  }

  private Thread press(String attack) {
    Attempt attempt = Attempt.prepare(Attacks.named(attack), target);
    return started(
        () -> {
          try {
            attempt.run(PRESSURE_TIME);
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        });
  }

  private static Thread started(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** A call whose connection breaks was neither refused nor acknowledged: it does not count. */
  private void enqueue(int client) {
    for (int call = 0; call < CALLS; ) {
      try {
        call = client % 2 == 0 ? overGrpc(client, call) : overHttp(client, call);
      } catch (IOException broken) {
        call++;
      }
    }
  }

  private int overGrpc(int number, int from) throws IOException {
    Socket socket = server.connectGrpc();
    Http2 connection = new Http2(socket, socket.getOutputStream()).greet();
    try (GrpcClient client = new GrpcClient(connection, key(number))) {
      for (int call = from; call < CALLS; call++) {
        String name = number + "x" + call;
        Proto message = new Proto().text(1, name + "-" + "p".repeat(PADDING_BYTES));
        byte[] request = new Proto().text(1, QUEUE).message(2, message).encode();
        int status = client.call(Grpc.ENQUEUE, request).status();
        if (status >= 0) {
          (status == 0 ? acknowledged : refused).add(name);
        }
      }
    }
    return CALLS;
  }

  private int overHttp(int number, int from) throws IOException {
    for (int call = from; call < CALLS; call++) {
      // A refusal closes the connection.
      try (HttpClient client = server.connectHttp(key(number))) {
        String name = number + "x" + call;
        String body = "{\"payload\":\"%s-%s\"}".formatted(name, "p".repeat(PADDING_BYTES));
        int status = client.call("POST", PATH + "/messages", body).status();
        (status == 200 ? acknowledged : refused).add(name);
      }
    }
    return CALLS;
  }

  private String key(int number) {
    return target.tenantKeys().get(number % target.tenantKeys().size());
  }

  private Set<String> drain() throws IOException {
    Set<String> stored = new HashSet<>();
    try (HttpClient client = server.connectHttp(target.tenantKeys().get(0))) {
      for (int round = 0; round < DRAIN_ROUNDS; round++) {
        String body = "{\"max_messages\":20,\"wait_ms\":500}";
        Matcher delivery = DELIVERY.matcher(client.call("POST", PATH + "/receive", body).body());
        List<String> acks = new ArrayList<>();
        while (delivery.find()) {
          stored.add(delivery.group(3));
          acks.add(
              "{\"id\":\"%s\",\"lease_token\":\"%s\",\"action\":\"ack\"}"
                  .formatted(delivery.group(1), delivery.group(2)));
        }
        if (acks.isEmpty()) {
          return stored;
        }
        String all = acks.stream().collect(Collectors.joining(",", "{\"settlements\":[", "]}"));
        client.call("POST", PATH + "/settle", all);
      }
    }
    throw new IllegalStateException("the queue has no end: " + stored.size());
  }

  private Result compare(Set<String> stored) {
    int executed = (int) refused.stream().filter(stored::contains).count();
    int there = (int) acknowledged.stream().filter(stored::contains).count();
    return new Result(refused.size(), executed, acknowledged.size(), acknowledged.size() - there);
  }
}
