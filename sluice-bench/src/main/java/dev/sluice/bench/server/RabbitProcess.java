package dev.sluice.bench.server;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.perf.PerfTest;
import dev.sluice.bench.broker.BrokerRig;
import dev.sluice.bench.measure.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** A RabbitMQ node of its own, with its own port mapper, and its own load generator. */
final class RabbitProcess implements AutoCloseable {
  private static final String COMMAND = "/usr/lib/rabbitmq/bin/rabbitmq-server";
  private static final Pattern RECEIVED =
      Pattern.compile("time:? (\\d+[.]\\d+) ?s.*received: (\\d+) msg/s");
  private static final Duration SLACK = Duration.ofSeconds(30);

  private final Path folder;
  private final int port = Child.freePort();
  private final Child mapper;
  private final Child node;

  RabbitProcess(Path folder) throws IOException, InterruptedException {
    this.folder = folder;
    int mapperPort = Child.freePort();
    mapper = new Child(folder, Map.of(), List.of("epmd", "-port", String.valueOf(mapperPort)));
    mapper.awaitPort(mapperPort);
    Path none = Files.createFile(folder.resolve("none.conf"));
    node =
        new Child(
            folder,
            Map.ofEntries(
                Map.entry("HOME", folder.toString()),
                Map.entry("ERL_EPMD_PORT", String.valueOf(mapperPort)),
                Map.entry("RABBITMQ_NODENAME", "bench@localhost"),
                Map.entry("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1"),
                Map.entry("RABBITMQ_NODE_PORT", String.valueOf(port)),
                Map.entry("RABBITMQ_DIST_PORT", String.valueOf(Child.freePort())),
                Map.entry("RABBITMQ_CONF_ENV_FILE", none.toString()),
                Map.entry("RABBITMQ_CONFIG_FILE", none.toString()),
                Map.entry("RABBITMQ_ENABLED_PLUGINS_FILE", folder.resolve("plugins").toString()),
                Map.entry("RABBITMQ_MNESIA_BASE", folder.resolve("data").toString()),
                Map.entry("RABBITMQ_LOG_BASE", folder.resolve("log").toString()),
                Map.entry("RABBITMQ_PID_FILE", folder.resolve("pid").toString())),
            List.of(COMMAND));
    node.awaitPort(port);
  }

  String version() throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(port);
    try (Connection connection = factory.newConnection()) {
      return connection.getServerProperties().get("version").toString();
    }
  }

  /** Messages a second that were consumed and acknowledged, by its own measure. */
  double lifecycle(Duration warmUp, Duration measured) throws IOException, InterruptedException {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            PerfTest.class.getName(),
            "--uri",
            "amqp://127.0.0.1:" + port,
            "--quorum-queue",
            "--queue",
            "bench-" + System.nanoTime(),
            "--producers",
            "2",
            "--consumers",
            "2",
            "--confirm",
            "2000",
            "--qos",
            "2000",
            "--multi-ack-every",
            "100",
            "--size",
            String.valueOf(BrokerRig.PAYLOAD_BYTES),
            "--time",
            String.valueOf(warmUp.plus(measured).toSeconds() + 1));
    try (Child load = new Child(folder, Map.of(), command)) {
      load.awaitEnd(warmUp.plus(measured).plus(SLACK));
      return RECEIVED
          .matcher(load.output())
          .results()
          .filter(second -> Double.parseDouble(second.group(1)) > warmUp.toSeconds())
          .mapToDouble(second -> Double.parseDouble(second.group(2)))
          .average()
          .orElseThrow(() -> new IllegalStateException("no rate in its output"));
    }
  }

  @Override
  public void close() {
    node.close();
    mapper.close();
  }
}
