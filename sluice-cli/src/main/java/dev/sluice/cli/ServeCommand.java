package dev.sluice.cli;

import dev.sluice.broker.BrokerException;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.ServerSettings;
import dev.sluice.server.SettingsException;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
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
      "Every key of the file is also an environment variable: server.grpc_port is",
      "SLUICE_SERVER_GRPC_PORT. Options count first, then variables, then the file.",
      "With auth.bootstrap_key every request needs a key, and that one allows",
      "everything. Without it only this machine may call, unless tls.client_ca_file is",
      "set and callers show a certificate signed by it. Ends on SIGINT and SIGTERM."
    })
final class ServeCommand extends Action {
  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "The configuration. Default: sluice.toml, or a fila.toml, if there is one here.")
  private @Nullable Path file;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Where everything is kept. Default: sluice-data.")
  private @Nullable String data;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description = "Where to listen. Default: 127.0.0.1.")
  private @Nullable String host;

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      description = "The port of gRPC, 0 for any. Default: 5555.")
  private @Nullable String grpcPort;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      description = "The port of HTTP, 0 for any. Default: 8080.")
  private @Nullable String httpPort;

  @Option(
      names = "--until-input-ends",
      description = "End when standard input does: with whoever started it, however that ends.")
  private boolean untilInputEnds;

  @Option(
      names = "--print-config",
      description = "Print every key with its value and effect, as a file, and exit.")
  private boolean print;

  @Override
  public Integer call() throws InterruptedException {
    ServerSettings settings = settings();
    if (print) {
      settings.warnings().forEach(err()::println);
      out().print(settings.toToml());
      out().flush();
      return ExitCode.OK;
    }
    settings.startLogging();
    serve(settings.config());
    return ExitCode.OK;
  }

  private void serve(ServerConfig config) throws InterruptedException {
    SluiceServer server = start(config);
    Runtime.getRuntime().addShutdownHook(new Thread(server::close, "sluice-shutdown"));
    String address = config.listen().host();
    out()
        .printf(
            "sluice is ready: gRPC on %s:%d, HTTP on %s://%s:%d, data in %s%n",
            address,
            server.grpcPort(),
            config.tls() == null ? "http" : "https",
            address,
            server.httpPort(),
            config.dataDirectory());
    out().flush();
    if (untilInputEnds) {
      awaitEnd(System.in);
      System.exit(ExitCode.OK);
    }
    new CountDownLatch(1).await();
  }

  private static void awaitEnd(InputStream input) {
    try {
      input.transferTo(OutputStream.nullOutputStream());
    } catch (IOException broken) {
      // Nobody is there any more.
    }
  }

  private ServerSettings settings() {
    Map<String, String> flags = new LinkedHashMap<>();
    putGiven(flags, "--data", data);
    putGiven(flags, "--host", host);
    putGiven(flags, "--grpc-port", grpcPort);
    putGiven(flags, "--http-port", httpPort);
    try {
      return ServerSettings.read(Path.of(""), file, System.getenv(), flags);
    } catch (SettingsException broken) {
      throw new InvalidInputException(String.valueOf(broken.getMessage()));
    }
  }

  private static void putGiven(Map<String, String> flags, String flag, @Nullable String value) {
    if (value != null) {
      flags.put(flag, value);
    }
  }

  private static SluiceServer start(ServerConfig config) {
    try {
      return SluiceServer.start(config);
    } catch (IOException | BrokerException | IllegalArgumentException failure) {
      throw new InvalidInputException(
          "the server cannot start: " + failure.getMessage() + hint(failure));
    }
  }

  private static String hint(Exception failure) {
    return String.valueOf(failure.getMessage()).endsWith("address already in use")
        ? "; --grpc-port and --http-port say where else"
        : "";
  }
}
