package dev.sluice.bench.server;

import dev.sluice.bench.measure.Child;
import io.nats.client.Connection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A NATS server with JetStream in a folder; confirmed messages are in the page cache. */
final class NatsProcess implements AutoCloseable {
  final int port;
  private final Child child;

  NatsProcess(Path folder) throws IOException, InterruptedException {
    port = Child.freePort();
    child =
        new Child(
            folder,
            Map.of(),
            List.of(
                "nats-server",
                "--addr",
                "127.0.0.1",
                "--port",
                String.valueOf(port),
                "--jetstream",
                "--store_dir",
                folder.toString()));
    child.awaitPort(port);
  }

  String version() throws Exception {
    Connection connection = NatsWire.connect(port);
    try {
      return connection.getServerInfo().getVersion();
    } finally {
      connection.close();
    }
  }

  @Override
  public void close() {
    child.close();
  }
}
