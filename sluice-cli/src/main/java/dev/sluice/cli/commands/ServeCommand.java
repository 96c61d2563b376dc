package dev.sluice.cli.commands;

import dev.sluice.broker.BrokerException;
import dev.sluice.cli.runtime.BaseCommand;
import dev.sluice.cli.runtime.CommandFailedException;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.HangupSignal;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.server.DataDirectoryException;
import dev.sluice.server.InvalidSettingsException;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.ServerConfigLoader;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code sluice serve}. */
@Command(
    name = "serve",
    description = "Run a server: queues, limits and token budgets over gRPC and HTTP.",
    footer = {
      "",
      "Every setting of the file is also an environment variable: server.grpc_port is",
      "SLUICE_SERVER_GRPC_PORT. Options override variables, which override the file.",
      "With auth.bootstrap_key every request needs an API key; the bootstrap key permits",
      "everything. Without it only this machine may call, unless tls.client_ca_file is",
      "set and callers have a certificate signed by it. SIGINT and SIGTERM stop the",
      "server; on SIGHUP it reads governor.file, certificates and log settings again."
    })
public final class ServeCommand extends BaseCommand {
  private static final System.Logger LOG = System.getLogger(ServeCommand.class.getName());

  /** The longest time to exit after the store has failed. */
  private static final Duration LONGEST_END = Duration.ofSeconds(30);

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "The configuration file. Default: sluice.toml or fila.toml in this directory, if any.")
  private @Nullable Path file;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "The data directory. Default: sluice-data.")
  private @Nullable String data;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description = "The address to listen on. Default: 127.0.0.1.")
  private @Nullable String host;

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      description = "The gRPC port; 0: any free one. Default: 5555.")
  private @Nullable String grpcPort;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      description =
          "The HTTP port; 0: any free one; off: none. Default: 8080; off with a fila.toml.")
  private @Nullable String httpPort;

  @Option(
      names = "--until-input-ends",
      description = "Stop at the end of standard input, so also when the parent process dies.")
  private boolean untilInputEnds;

  @Option(
      names = "--print-config",
      description = "Print every setting with its value and its effect as a file, and exit.")
  private boolean print;

  @Override
  public Integer call() {
    ServerConfigLoader settings = settings();
    if (print) {
      settings.warnings().forEach(err()::println);
      out().print(settings.toToml());
      out().flush();
      return ExitCode.OK;
    }
    settings.startLogging();
    serve(settings);
    return ExitCode.OK;
  }

  private void serve(ServerConfigLoader settings) {
    // Installed before the start: an early signal must not end the process.
    HangupSignal hangups = HangupSignal.install();
    ServerConfig config = settings.config();
    SluiceServer server = start(config);
    hangups.handle(() -> reload(server, settings));
    Runtime.getRuntime().addShutdownHook(new Thread(server::close, "sluice-shutdown"));
    out()
        .printf(
            "sluice is ready: gRPC on %s:%d, HTTP %s, data in %s%n",
            config.listen().host(),
            server.grpcPort(),
            http(config, server),
            config.dataDirectory());
    out().flush();
    CompletableFuture<String> failure = server.failure();
    if (untilInputEnds) {
      Thread input = new Thread(() -> endWith(System.in), "sluice-input");
      input.setDaemon(true);
      input.start();
    }
    String reason = failure.join();
    haltLater();
    throw new CommandFailedException(ExitCodes.STORE, "the server has stopped: " + reason);
  }

  /** Halts the process if the failed disk blocks its shutdown; confirmed calls are stored. */
  private static void haltLater() {
    Thread halting =
        new Thread(
            () -> {
              LockSupport.parkNanos(LONGEST_END.toNanos());
              Runtime.getRuntime().halt(ExitCodes.STORE);
            },
            "sluice-halt");
    halting.setDaemon(true);
    halting.start();
  }

  private static String http(ServerConfig config, SluiceServer server) {
    return config.listen().hasHttp()
        ? "on %s://%s:%d"
            .formatted(
                config.tls() == null ? "http" : "https", config.listen().host(), server.httpPort())
        : "off";
  }

  /** Reloads files and settings; {@code started} are the settings that the server runs with. */
  private void reload(SluiceServer server, ServerConfigLoader started) {
    server.reload();
    try {
      started.reloadFrom(settings());
    } catch (InvalidInputException broken) {
      LOG.log(
          System.Logger.Level.ERROR,
          "the new configuration is invalid; the previous one stays in use: "
              + broken.getMessage());
    }
  }

  private static void endWith(InputStream input) {
    try {
      input.transferTo(OutputStream.nullOutputStream());
    } catch (IOException broken) {
      // The parent process has ended.
    }
    System.exit(ExitCode.OK);
  }

  private ServerConfigLoader settings() {
    Map<String, String> flags = new LinkedHashMap<>();
    putGiven(flags, "--data", data);
    putGiven(flags, "--host", host);
    putGiven(flags, "--grpc-port", grpcPort);
    putGiven(flags, "--http-port", httpPort);
    try {
      return ServerConfigLoader.read(Path.of(""), file, System.getenv(), flags);
    } catch (InvalidSettingsException broken) {
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
    } catch (BrokerException unusable) {
      String why = "the server cannot start: " + unusable.getMessage();
      throw unusable.code() == BrokerException.Code.HEAP_FULL
          ? new CommandFailedException(
              ExitCodes.HEAP, why + "; SLUICE_JAVA_FLAGS=-Xmx... sets the heap")
          : new CommandFailedException(ExitCodes.STORE, why);
    } catch (DataDirectoryException unusable) {
      throw new CommandFailedException(
          ExitCodes.STORE, "the server cannot start: " + unusable.getMessage());
    } catch (IOException | IllegalArgumentException failure) {
      throw new InvalidInputException("the server cannot start: " + failure.getMessage());
    }
  }
}
