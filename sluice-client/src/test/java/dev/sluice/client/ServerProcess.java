package dev.sluice.client;

import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A server as a process of its own, which can be told to end. */
final class ServerProcess implements AutoCloseable {
  final Process process;
  final int port;
  final int httpPort;

  /** {@code flags} are those of its JVM. */
  ServerProcess(Path dir, String... flags) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(flags));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(ServerProcess.class.getName(), dir.toString()));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String line = process.inputReader().readLine();
    if (line == null) {
      throw new IOException("the server did not start");
    }
    String[] ports = line.split(" ", -1);
    port = Integer.parseInt(ports[0]);
    httpPort = Integer.parseInt(ports[1]);
  }

  /**
   * Runs until it is told to end.
   *
   * @param arguments the directory of its data
   */
  public static void main(String[] arguments) throws Exception {
    SluiceServer server =
        SluiceServer.start(
            ServerConfig.defaults(Path.of(arguments[0]))
                .withListen(ListenConfig.ANYWHERE)
                .withGovernorFile(Path.of("..", "examples", "governor", "token-budget.json")));
    Runtime.getRuntime().addShutdownHook(new Thread(server::close));
    System.out.println(server.grpcPort() + " " + server.httpPort());
    new CountDownLatch(1).await();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
