package dev.sluice.cli;

import dev.sluice.broker.BrokerException;
import dev.sluice.server.Listen;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code sluice serve}. */
@Command(
    name = "serve",
    description = "Run the server: queues and limits over gRPC and HTTP.",
    footer = {
      "",
      "With SLUICE_BOOTSTRAP_KEY in the environment every request needs a key, and that one",
      "allows everything; without it only this machine may call. Ends on SIGINT and SIGTERM."
    })
final class ServeCommand extends Action {
  private static final String KEY_VARIABLE = "SLUICE_BOOTSTRAP_KEY";
  private static final int MAX_PORT = 65_535;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Where everything is kept. Default: sluice-data.")
  private Path data = Path.of("sluice-data");

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description = "Where to listen. Default: 127.0.0.1.")
  private String host = "127.0.0.1";

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "The port of gRPC, 0 for any. Default: 5555.")
  private long grpcPort = 5555;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "The port of HTTP, 0 for any. Default: 8080.")
  private long httpPort = 8080;

  @Override
  public Integer call() throws InterruptedException {
    SluiceServer server = start(config());
    Runtime.getRuntime().addShutdownHook(new Thread(server::close, "sluice-shutdown"));
    out()
        .printf(
            "sluice is ready: gRPC on %s:%d, HTTP on http://%s:%d, data in %s%n",
            host, server.grpcPort(), host, server.httpPort(), data);
    out().flush();
    new CountDownLatch(1).await();
    return ExitCode.OK;
  }

  private ServerConfig config() {
    ServerConfig config =
        ServerConfig.defaults(data)
            .withListen(
                new Listen(host, port("--grpc-port", grpcPort), port("--http-port", httpPort)));
    @Nullable String key = System.getenv(KEY_VARIABLE);
    return key == null ? config : config.withBootstrapKey(key);
  }

  private static int port(String option, long port) {
    if (port > MAX_PORT) {
      throw new InvalidInputException(option + " must be from 0 to " + MAX_PORT + ": " + port);
    }
    return (int) port;
  }

  private static SluiceServer start(ServerConfig config) {
    try {
      return SluiceServer.start(config);
    } catch (IOException | BrokerException | IllegalArgumentException failure) {
      throw new InvalidInputException("the server cannot start: " + failure.getMessage());
    }
  }
}
