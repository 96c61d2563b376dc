package dev.sluice.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.testkit.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The server that writes a fixture and that opens it again, with API keys and the budgets of {@code
 * token-budget.json} in its folder.
 */
final class FixtureServer {
  static final String BOOTSTRAP = "bootstrap-of-the-fixtures";
  static final String BUDGETS = "token-budget.json";
  private static final String PORT = "port ";
  private static final String STOP = "stop";
  private static final String STOPPED = "stopped";

  private FixtureServer() {}

  /** Starts it in this process, with limits and budgets in Redis if there is an address. */
  static SluiceServer start(Path folder, String redis) throws IOException {
    ServerConfig config =
        ServerConfig.defaults(folder.resolve("data"))
            .withListen(ListenConfig.ANYWHERE)
            .withBootstrapKey(BOOTSTRAP)
            .withGovernorFile(folder.resolve(BUDGETS));
    if (redis.isEmpty()) {
      return SluiceServer.start(config);
    }
    return SluiceServer.start(
        config.withRedis(
            RedisConfig.at(redis).withTimeout(RedisLimitsTest.PATIENCE).withLeases(true)));
  }

  /** Starts it without Redis in a process whose clock is so far ahead. */
  static JavaProcess startAhead(Duration offset, Path folder) {
    return JavaProcess.startAt(offset, FixtureServer.class, List.of(folder.toString()));
  }

  static FixtureClient client(JavaProcess server) {
    return new FixtureClient(Integer.parseInt(server.await(PORT)), BOOTSTRAP);
  }

  static FixtureClient client(SluiceServer server) {
    return new FixtureClient(server.httpPort(), BOOTSTRAP);
  }

  /** Ends that process as SIGTERM does. */
  static void stop(JavaProcess server) {
    server.send(STOP);
    server.await(STOPPED);
  }

  /** Serves the folder of the first argument until it is told to stop. */
  public static void main(String[] arguments) throws IOException {
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    try (SluiceServer server = start(Path.of(arguments[0]), "")) {
      System.out.println(PORT + server.httpPort());
      for (String line = orders.readLine(); line != null; line = orders.readLine()) {
        if (line.equals(STOP)) {
          break;
        }
      }
    }
    System.out.println(STOPPED);
  }
}
