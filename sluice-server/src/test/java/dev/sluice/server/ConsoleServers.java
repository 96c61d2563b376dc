package dev.sluice.server;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The servers that a browser looks at: one that asks for no key, one that does, and one that is
 * stopped and started by {@code POST /stop} and {@code POST /start} at a port of its own.
 */
final class ConsoleServers implements AutoCloseable {
  private static final String KEY = "bootstrap-for-the-console";

  /** {@code busy} has a line that moves; those of the others stay as they are. */
  private static final String BUDGETS =
      """
      {"models": {
         "slow": {"target_tpm": 1, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "single": {"target_tpm": 60000, "concurrency": 1, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "short": {"target_tpm": 1, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "odd": {"target_tpm": 1, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "crowded": {"target_tpm": 1, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "busy": {"target_tpm": 60000, "burst_tpm": 6000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}}},
       "governor": {"max_waiting": 500, "ticket_idle_timeout_ms": 600000, "reservation_timeout_ms": 600000}}
      """;

  private final SluiceServer open;
  private final SluiceServer keyed;
  private final ServerConfig leavingConfig;
  private final int leavingPort;
  private final com.sun.net.httpserver.HttpServer control;
  private @Nullable SluiceServer leaving;

  ConsoleServers(Path dir) throws IOException {
    Path budgets = dir.resolve("token-budget.json");
    Files.writeString(budgets, BUDGETS);
    open = SluiceServer.start(config(dir, "open").withGovernorFile(budgets));
    keyed =
        SluiceServer.start(config(dir, "keyed").withBootstrapKey(KEY).withGovernorFile(budgets));
    leaving = SluiceServer.start(config(dir, "leaving"));
    leavingPort = leaving.httpPort();
    leavingConfig =
        config(dir, "leaving").withListen(ListenConfig.ANYWHERE.withHttpPort(leavingPort));
    InetSocketAddress anywhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    control = com.sun.net.httpserver.HttpServer.create(anywhere, 0);
    control.createContext("/stop", exchange -> answer(exchange, this::stop));
    control.createContext("/start", exchange -> answer(exchange, this::start));
    control.start();
  }

  private static ServerConfig config(Path dir, String name) {
    return ServerConfig.defaults(dir.resolve(name)).withListen(ListenConfig.ANYWHERE);
  }

  private static String url(int port) {
    return "http://127.0.0.1:" + port;
  }

  /** Where they are, for the tests. */
  Map<String, String> environment() {
    return Map.of(
        "SLUICE_OPEN", url(open.httpPort()),
        "SLUICE_KEYED", url(keyed.httpPort()),
        "SLUICE_KEY", KEY,
        "SLUICE_LEAVING", url(leavingPort),
        "SLUICE_CONTROL", url(control.getAddress().getPort()));
  }

  private interface Step {
    void run() throws IOException;
  }

  private static void answer(HttpExchange exchange, Step step) throws IOException {
    try (exchange) {
      step.run();
      exchange.sendResponseHeaders(204, -1);
    }
  }

  private synchronized void stop() {
    Objects.requireNonNull(leaving, "it is stopped").close();
    leaving = null;
  }

  private synchronized void start() throws IOException {
    leaving = SluiceServer.start(leavingConfig);
  }

  @Override
  public synchronized void close() {
    control.stop(0);
    open.close();
    keyed.close();
    if (leaving != null) {
      leaving.close();
    }
  }

  /** Keeps them up until the end of input, for tests that are started by hand. */
  public static void main(String[] args) throws IOException {
    try (ConsoleServers servers = new ConsoleServers(Path.of(args[0]))) {
      servers
          .environment()
          .forEach((name, value) -> System.out.println("export " + name + "=" + value));
      while (System.in.read() >= 0) {
        // The end of this stream is the end of the servers.
      }
    }
  }
}
