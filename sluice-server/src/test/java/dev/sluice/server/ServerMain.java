package dev.sluice.server;

import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The program of a server in a process of its own. */
public final class ServerMain {
  private ServerMain() {}

  /**
   * Starts a server whose data is in {@code folder}.
   *
   * @param flags flags of its JVM
   */
  public static ServerProcess start(Path folder, String... flags) throws IOException {
    return ServerProcess.start(
        folder, JavaProcess.command(List.of(flags), ServerMain.class, List.of("data")));
  }

  /** Starts a server that also governs the models of {@code budgets}. */
  public static ServerProcess startGoverned(Path folder, Path budgets, String... flags)
      throws IOException {
    List<String> arguments = List.of("data", budgets.toAbsolutePath().toString());
    return ServerProcess.start(
        folder, JavaProcess.command(List.of(flags), ServerMain.class, arguments));
  }

  /**
   * Serves until the process is killed or told to end, or its input ends.
   *
   * @param args the directory of the data, and the file of the budgets if there is one
   */
  public static void main(String[] args) throws IOException {
    ServerConfig config = ServerConfig.defaults(Path.of(args[0])).withListen(ListenConfig.ANYWHERE);
    SluiceServer server =
        SluiceServer.start(args.length == 1 ? config : config.withGovernorFile(Path.of(args[1])));
    Runtime.getRuntime().addShutdownHook(new Thread(server::close));
    System.out.printf(
        "sluice is ready: gRPC on 127.0.0.1:%d, HTTP on http://127.0.0.1:%d, data in %s%n",
        server.grpcPort(), server.httpPort(), args[0]);
    while (System.in.read() >= 0) {
      // The end of this stream is the end of the test.
    }
    server.close();
  }
}
