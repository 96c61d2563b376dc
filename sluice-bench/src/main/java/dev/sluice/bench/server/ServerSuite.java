package dev.sluice.bench.server;

import dev.sluice.bench.broker.OpenLoop;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import dev.sluice.bench.measure.Scratch;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.SluiceClient;
import dev.sluice.testkit.ServerProcess;
import io.nats.client.Connection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The server over loopback, in a process of its own, with messages of 1 KB; RabbitMQ and NATS in
 * the same run. Every message that is counted was stored, delivered and acknowledged.
 */
public final class ServerSuite {
  /** Each with one producer and one consumer. */
  private static final int CONNECTIONS = 2;

  private static final int ON_THEIR_WAY = 8_000;
  private static final int PREFETCH = 4_000;

  /** How much is measured. */
  private record Effort(int rounds, Duration warmUp, Duration measured, Duration limits) {
    static final Effort QUICK =
        new Effort(1, Duration.ofSeconds(2), Duration.ofSeconds(2), Duration.ofSeconds(1));
    static final Effort FULL =
        new Effort(3, Duration.ofSeconds(5), Duration.ofSeconds(10), Duration.ofSeconds(5));
  }

  private final Effort effort;
  private final Scratch scratch;
  private final Rounds rounds;
  private final Report report = new Report();
  private String rabbitVersion = "";
  private String natsVersion = "";

  private ServerSuite(Effort effort, Scratch scratch) {
    this.effort = effort;
    this.scratch = scratch;
    this.rounds = Rounds.of(effort.rounds());
  }

  public static Report run(boolean quick) throws Exception {
    try (Scratch scratch = new Scratch()) {
      return new ServerSuite(quick ? Effort.QUICK : Effort.FULL, scratch).measure();
    }
  }

  private Report measure() throws Exception {
    rounds.run(
        unused -> {
          sluice();
          nats();
          rabbit();
        });
    head();
    table();
    return report;
  }

  // ---- ours

  /** Returns the command {@code ./sluice serve}, as a user types it. */
  private static List<String> serve() {
    Path command = Path.of(System.getProperty("sluice.root"), "sluice");
    return List.of(command.toString(), "serve", "--grpc-port", "0", "--http-port", "0");
  }

  private void sluice() throws Exception {
    Path folder = scratch.next();
    try (ServerProcess server = ServerProcess.start(folder, serve());
        SluiceClient client = SluiceClient.connect("127.0.0.1", server.grpcPort())) {
      rounds.record("start_ms", server.startTime().toNanos() / 1e6);
      // The compilers of both sides: the first figure would pay for them otherwise.
      lifecycle(server, client, QueueConfig.Durability.OS);
      double perSecond = lifecycle(server, client, QueueConfig.Durability.ALWAYS);
      rounds.record("lifecycle_per_s", perSecond);
      latency(server, client, perSecond / 2);
      rounds.record("lifecycle_os_per_s", lifecycle(server, client, QueueConfig.Durability.OS));
      rounds.record("rss_mb", server.residentMegabytes());
      LimitLoad.setLimit(client);
      rounds.record(
          "limit_grpc_per_s", new LimitLoad().perSecond(client, effort.limits(), effort.limits()));
      rounds.record(
          "limit_http_per_s",
          new HttpLimitLoad(server.httpPort()).perSecond(effort.limits(), effort.limits()));
    }
    Scratch.delete(folder);
  }

  private double lifecycle(
      ServerProcess server, SluiceClient client, QueueConfig.Durability durability)
      throws InterruptedException {
    String queue = queue(client, durability);
    List<Wire> wires = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      wires.add(new SluiceWire(server.grpcPort(), queue, PREFETCH));
    }
    double perSecond =
        new WireLoad(wires, ON_THEIR_WAY).lifecycle(effort.warmUp(), effort.measured());
    wires.forEach(Wire::close);
    requireEmpty(client, queue);
    return perSecond;
  }

  private void latency(ServerProcess server, SluiceClient client, double perSecond)
      throws Exception {
    String queue = queue(client, QueueConfig.Durability.ALWAYS);
    try (Wire wire = new SluiceWire(server.grpcPort(), queue, PREFETCH)) {
      OpenLoop.Latency latency =
          new WireOpenLoop(wire, perSecond).measure(Duration.ofSeconds(1), effort.measured());
      rounds.record("p50_ms", latency.p50());
      rounds.record("p99_ms", latency.p99());
    }
    requireEmpty(client, queue);
  }

  private static String queue(SluiceClient client, QueueConfig.Durability durability) {
    String name = "bench-" + System.nanoTime();
    client.createQueue(name, QueueConfig.builder().durability(durability).build());
    return name;
  }

  private static void requireEmpty(SluiceClient client, String queue) {
    long depth = client.queue(queue).depth();
    if (depth != 0) {
      throw new IllegalStateException("messages are lost or too many: depth=" + depth);
    }
  }

  // ---- rivals

  private void nats() throws Exception {
    Path folder = scratch.next();
    try (NatsProcess server = new NatsProcess(folder)) {
      natsVersion = server.version();
      Connection admin = NatsWire.connect(server.port);
      NatsWire.create(admin, "bench", CONNECTIONS * PREFETCH);
      List<Wire> wires = new ArrayList<>();
      for (int i = 0; i < CONNECTIONS; i++) {
        wires.add(new NatsWire(server.port, "bench", PREFETCH));
      }
      double perSecond =
          new WireLoad(wires, ON_THEIR_WAY).lifecycle(effort.warmUp(), effort.measured());
      rounds.record("nats_per_s", perSecond);
      wires.forEach(Wire::close);
      admin.close();
    }
    Scratch.delete(folder);
  }

  private void rabbit() throws Exception {
    Path folder = scratch.next();
    try (RabbitProcess server = new RabbitProcess(folder)) {
      rabbitVersion = server.version();
      rounds.record("rabbitmq_per_s", server.lifecycle(effort.warmUp(), effort.measured()));
    }
    Scratch.delete(folder);
  }

  // ---- the report

  private void head() throws IOException {
    report.line(
        "messages of 1 KB over loopback, %d producers, %d consumers, %,d on their way",
        CONNECTIONS, CONNECTIONS, ON_THEIR_WAY);
    report.line(
        "rivals of Debian: RabbitMQ %s (quorum queue, confirms), NATS %s (file storage)",
        rabbitVersion, natsVersion);
    report.line(
        "medians of %d round(s) of %d s, %d cores that servers and loads share, %s",
        effort.rounds(),
        effort.measured().toSeconds(),
        Runtime.getRuntime().availableProcessors(),
        scratch.fileSystem());
    if (scratch.isInMemory()) {
      report.line("WARNING: the temporary folder is in memory; use -Djava.io.tmpdir");
    }
    report.line("");
  }

  private void table() {
    row("lifecycle_per_s", "sent, delivered, acknowledged; synced before every answer");
    row("rabbitmq_per_s", "the same with RabbitMQ, by its perf-test");
    row("p50_ms", "due to delivered at half of lifecycle_per_s");
    row("p99_ms", "the same");
    row("lifecycle_os_per_s", "answers from the page cache");
    row("nats_per_s", "the same with NATS, whose acknowledgements are not answered");
    row("limit_grpc_per_s", "decisions over one stream, up to 64 together");
    row("limit_http_per_s", "decisions over HTTP, one a request");
    row("start_ms", "./sluice serve until it is ready");
    row("rss_mb", "resident after all this");
    report.line("");
    rounds.ratio(report, "vs_rabbitmq", "lifecycle_per_s", "rabbitmq_per_s");
    rounds.ratio(report, "vs_nats_os", "lifecycle_os_per_s", "nats_per_s");
  }

  private void row(String name, String note) {
    double value = rounds.median(name);
    String figure = String.format(Locale.ROOT, value < 1_000 ? "%.2f" : "%,.0f", value);
    report.line("%-24s %14s   %s", name, figure, note);
    report.value(name, value);
  }
}
