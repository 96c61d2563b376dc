package dev.sluice.cli.demo;

import dev.sluice.cli.runtime.CommandFailedException;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.text.InvalidInputException;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A server as a child of this process, on a directory that goes when this is closed. It can be
 * killed and started again; it does not outlive this process, however that ends.
 */
public final class DemoServer implements AutoCloseable {
  private static final String HOST = "127.0.0.1";
  private static final String READY = "sluice is ready";

  /** Given by name, because this package must not depend on the entry point. */
  private static final String MAIN_CLASS = "dev.sluice.cli.Sluice";

  private static final long DEATH_SECONDS = 10;

  private final Ports ports;
  private final Path directory;
  private final Thread hook = new Thread(this::end, "sluice-demo-end");

  // Guarded by this.
  private @Nullable Process process;
  private boolean ended;

  /** The ports of the server, the same after a restart. */
  public record Ports(int http, int grpc) {
    /** Returns the requested port, which must be free, or the usual one, or any free one. */
    public static int choose(String flag, @Nullable Long asked, int usual) {
      if (asked != null && (asked < 0 || asked > 65_535)) {
        throw new InvalidInputException(flag + " must be from 0 to 65535, but was " + asked);
      }
      try {
        return free(asked == null ? usual : asked.intValue());
      } catch (IOException taken) {
        if (asked != null) {
          throw new InvalidInputException(flag + " must be a free port: " + asked);
        }
        return any();
      }
    }

    private static int any() {
      try {
        return free(0);
      } catch (IOException none) {
        throw new CommandFailedException(
            ExitCodes.FAILED, "no port of " + HOST + " is free: " + none.getMessage());
      }
    }

    private static int free(int port) throws IOException {
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      }
    }
  }

  private DemoServer(Ports ports, Path directory) {
    this.ports = ports;
    this.directory = directory;
  }

  /** Creates the server without starting it. */
  public static DemoServer create(Ports ports, String budgets) {
    try {
      Path directory = Files.createTempDirectory("sluice-demo-");
      DemoServer server = new DemoServer(ports, directory);
      Runtime.getRuntime().addShutdownHook(server.hook);
      Files.writeString(server.budgets(), budgets);
      return server;
    } catch (IOException failure) {
      throw new CommandFailedException(
          ExitCodes.FAILED,
          "a temporary directory must be writable in %s: %s"
              .formatted(System.getProperty("java.io.tmpdir"), failure.getMessage()));
    }
  }

  String host() {
    return HOST;
  }

  int grpcPort() {
    return ports.grpc;
  }

  String console() {
    return "http://localhost:" + ports.http + "/";
  }

  private Path budgets() {
    return directory.resolve("token-budget.json");
  }

  private Path log() {
    return directory.resolve("server.log");
  }

  /** Returns when it is ready; false if it was closed before that. */
  public boolean start() {
    try {
      BufferedReader output;
      synchronized (this) {
        if (ended) {
          return false;
        }
        Process started = builder().start();
        process = started;
        output = started.inputReader();
      }
      for (String line; (line = output.readLine()) != null; ) {
        if (line.startsWith(READY)) {
          return true;
        }
      }
      if (isEnded()) {
        return false;
      }
      kill(); // it may still be about to end
      throw new CommandFailedException(
          ExitCodes.FAILED, "the server did not start: " + lastWords());
    } catch (IOException failure) {
      if (isEnded()) {
        return false;
      }
      throw new CommandFailedException(
          ExitCodes.FAILED, "the server cannot be started: " + failure.getMessage());
    }
  }

  /** Returns a server process with the flags of this one, without the user's server settings. */
  private ProcessBuilder builder() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("-X") || argument.startsWith("--"))
        .forEach(command::add);
    command.addAll(List.of("-cp", absoluteClassPath(), MAIN_CLASS, "serve"));
    command.addAll(List.of("--until-input-ends", "--host", HOST));
    command.addAll(List.of("--data", directory.resolve("data").toString()));
    command.addAll(List.of("--http-port", "" + ports.http, "--grpc-port", "" + ports.grpc));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectError(Redirect.appendTo(log().toFile()));
    builder.environment().keySet().removeIf(name -> name.matches("(SLUICE|FILA)_.*|REDIS_URL"));
    builder.environment().put("SLUICE_GOVERNOR_FILE", budgets().toString());
    return builder;
  }

  /** Returns the class path for a process in another directory. */
  private static String absoluteClassPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(part -> Path.of(part).toAbsolutePath().toString())
        .reduce((first, second) -> first + File.pathSeparator + second)
        .orElse("");
  }

  private synchronized boolean isEnded() {
    return ended;
  }

  /** Returns whether the server runs, or was stopped by the demo. */
  public synchronized boolean isWell() {
    return ended || (process != null && process.isAlive());
  }

  /** Returns the last output of the server. */
  String lastWords() {
    try (Stream<String> lines = Files.lines(log())) {
      return lines.reduce((first, second) -> second).orElse("it printed nothing");
    } catch (IOException | UncheckedIOException unreadable) {
      return "it printed nothing";
    }
  }

  /** Kills it, as a failure would, in the middle of its work. */
  void kill() {
    Process running;
    synchronized (this) {
      running = process;
    }
    if (running != null) {
      kill(running);
    }
  }

  private static void kill(Process running) {
    running.destroyForcibly();
    try {
      boolean unused = running.waitFor(DEATH_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    end();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException ending) {
      // It runs already.
    }
  }

  private void end() {
    synchronized (this) {
      ended = true;
    }
    kill();
    delete(directory);
  }

  private static void delete(Path directory) {
    try (Stream<Path> paths = Files.walk(directory)) {
      paths
          .sorted(Comparator.reverseOrder())
          .forEach(
              path -> {
                boolean unused = path.toFile().delete();
              });
    } catch (IOException | UncheckedIOException gone) {
      // Both the hook and the command may do this.
    }
  }
}
