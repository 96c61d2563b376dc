package dev.sluice.attacks;

import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Loopback;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A server process with a small heap, a bootstrap key and a data directory of its own. */
public final class AttackedServer implements AutoCloseable {
  /** The bootstrap key of this server, which allows everything. */
  static final String BOOTSTRAP_KEY = "operator-of-the-attacked-server";

  /**
   * A small heap; otherwise the flags of {@code bin/serve.jvm}, which end the process when it runs
   * out of memory.
   */
  private static final List<String> FLAGS =
      List.of("-Xmx256m", "-XX:+ExitOnOutOfMemoryError", "-XX:+UseG1GC");

  private static final Pattern READY =
      Pattern.compile("sluice is ready: gRPC on .*:(\\d+), HTTP on http://.*:(\\d+), data in .*");
  private static final Duration START = Duration.ofSeconds(60);
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final long END_SECONDS = 30;

  private final Process process;
  private final Path log;
  private final Thread atExit = new Thread(this::kill);
  private final InetSocketAddress grpc;
  private final InetSocketAddress http;

  private AttackedServer(Process process, Path folder) throws IOException, InterruptedException {
    this.process = process;
    log = folder.resolve("log");
    Runtime.getRuntime().addShutdownHook(atExit);
    Matcher ready = awaitReady(folder.resolve("output"));
    InetAddress here = InetAddress.getLoopbackAddress();
    grpc = new InetSocketAddress(here, Integer.parseInt(ready.group(1)));
    http = new InetSocketAddress(here, Integer.parseInt(ready.group(2)));
  }

  /**
   * Starts one and waits until it is ready.
   *
   * @param program the arguments after {@code java} and its flags: {@code -jar FILE}, or {@code -cp
   *     PATH CLASS}
   * @param folder for its data and its log; must be empty
   */
  public static AttackedServer start(List<String> program, Path folder)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(JavaProgram.command());
    command.addAll(FLAGS);
    command.addAll(program);
    command.addAll(List.of("serve", "--data", "data", "--grpc-port", "0", "--http-port", "0"));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectOutput(folder.resolve("output").toFile())
            .redirectError(folder.resolve("log").toFile());
    builder.environment().keySet().removeIf(name -> name.matches("(SLUICE|FILA|REDIS)_.*"));
    builder.environment().put("SLUICE_BOOTSTRAP_KEY", BOOTSTRAP_KEY);
    return new AttackedServer(builder.start(), folder);
  }

  private Matcher awaitReady(Path output) throws IOException, InterruptedException {
    long end = System.nanoTime() + START.toNanos();
    while (process.isAlive() && System.nanoTime() < end) {
      Matcher ready = READY.matcher(Files.readString(output));
      if (ready.find()) {
        return ready;
      }
      Thread.sleep(10);
    }
    kill();
    throw new IllegalStateException("the server did not start: " + Files.readString(log));
  }

  InetSocketAddress grpc() {
    return grpc;
  }

  InetSocketAddress http() {
    return http;
  }

  /** Opens a connection to the gRPC port. */
  Socket connectGrpc() throws IOException {
    return Loopback.connect(grpc, PATIENCE);
  }

  /** Opens a connection to the HTTP port, for calls with {@code key}. */
  HttpClient connectHttp(String key) throws IOException {
    return new HttpClient(Loopback.connect(http, PATIENCE), key);
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Returns the size of its log in bytes. */
  public long logBytes() throws IOException {
    return Files.size(log);
  }

  /** Returns the log after its first {@code bytes} bytes. */
  public String logSince(long bytes) throws IOException {
    byte[] all = Files.readAllBytes(log);
    int from = (int) Math.min(bytes, all.length);
    return new String(all, from, all.length - from, StandardCharsets.UTF_8);
  }

  /** Returns the number of threads and open files, sockets included; 0 if the process has ended. */
  int threadsAndFiles() throws IOException {
    Path self = Path.of("/proc", String.valueOf(process.pid()));
    if (!Files.isDirectory(self)) {
      return 0;
    }
    return count(self.resolve("task")) + count(self.resolve("fd"));
  }

  private static int count(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return (int) all.count();
    }
  }

  private void kill() {
    process.destroyForcibly();
  }

  /** Stops the process, by force after 30 seconds. */
  @Override
  public void close() {
    process.destroy();
    process.onExit().completeOnTimeout(process, END_SECONDS, TimeUnit.SECONDS).join();
    kill();
    process.onExit().join();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
