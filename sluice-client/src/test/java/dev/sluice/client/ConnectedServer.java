package dev.sluice.client;

import dev.sluice.server.SluiceServer;
import dev.sluice.server.TestServer;
import java.io.IOException;
import java.nio.file.Path;

/** A real server on any port, and a client of it. */
final class ConnectedServer implements AutoCloseable {
  private final TestServer started;
  final SluiceServer server;
  final SluiceClient client;

  ConnectedServer(Path dir) throws IOException {
    started = TestServer.start(dir);
    server = started.server;
    client = SluiceClient.connect("127.0.0.1", server.grpcPort());
  }

  @Override
  public void close() {
    client.close();
    started.close();
  }
}
