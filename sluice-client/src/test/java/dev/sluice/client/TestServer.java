package dev.sluice.client;

import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A real server on any port, and a client of it. */
final class TestServer implements AutoCloseable {
  final SluiceServer server;
  final SluiceClient client;

  TestServer(Path dir) throws IOException {
    server = start(dir, 0);
    client = SluiceClient.connect("127.0.0.1", server.grpcPort());
  }

  static SluiceServer start(Path dir, int port) throws IOException {
    return SluiceServer.start(
        ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE.withGrpcPort(port)));
  }

  /** With budgets of models, as {@code token-budget.json} has them. */
  static SluiceServer start(Path dir, int port, String budgets) throws IOException {
    Path file = dir.resolve("token-budget.json");
    Files.writeString(file, budgets);
    return SluiceServer.start(
        ServerConfig.defaults(dir.resolve("data"))
            .withListen(ListenConfig.ANYWHERE.withGrpcPort(port))
            .withGovernorFile(file));
  }

  @Override
  public void close() {
    client.close();
    server.close();
  }
}
