package dev.sluice.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A server in a process of its own, which has printed the line {@code sluice is ready: …}. It does
 * not outlive this JVM.
 *
 * <p>What it prints is in the files {@code output} and {@code log} of its folder.
 *
 * @since 0.1
 */
public final class ServerProcess implements AutoCloseable {
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final long END_SECONDS = 60;
  private static final Pattern READY =
      Pattern.compile(
          "^sluice is ready: gRPC on \\S+:(\\d+), HTTP on (https?://\\S+:\\d+), data in .*\\R",
          Pattern.MULTILINE);
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

  private final Process process;
  private final Path output;
  private final Path log;
  private final Thread atExit = new Thread(this::kill);
  private final int grpcPort;
  private final String url;
  private final Duration startTime;

  private ServerProcess(Process process, Path folder, long startNanos) throws IOException {
    this.process = process;
    this.output = folder.resolve("output");
    this.log = folder.resolve("log");
    Runtime.getRuntime().addShutdownHook(atExit);
    try {
      Matcher ready = awaitReady();
      startTime = Duration.ofNanos(System.nanoTime() - startNanos);
      grpcPort = Integer.parseInt(ready.group(1));
      url = ready.group(2);
    } catch (RuntimeException | IOException e) {
      close();
      throw e;
    }
  }

  /**
   * Starts a server and returns when it is ready.
   *
   * @param folder the directory in which it runs; it is created if it is absent
   */
  public static ServerProcess start(Path folder, List<String> command) throws IOException {
    Files.createDirectories(folder);
    long startNanos = System.nanoTime();
    Process process =
        prepare(folder, command).redirectOutput(folder.resolve("output").toFile()).start();
    return new ServerProcess(process, folder, startNanos);
  }

  /**
   * Returns a command that can be started in {@code folder}, without the settings of a server in
   * the environment of this process; its standard error is appended to the file {@code log} there.
   */
  public static ProcessBuilder prepare(Path folder, List<String> command) {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectError(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()));
    builder.environment().keySet().removeIf(name -> name.matches("(SLUICE|FILA)_.*"));
    return builder;
  }

  private Matcher awaitReady() throws IOException {
    Await.until(
        () -> "a server that is ready: " + lastWords(),
        START_LIMIT,
        () -> !process.isAlive() || READY.matcher(Files.readString(output)).find());
    Matcher ready = READY.matcher(Files.readString(output));
    if (!ready.find()) {
      throw new IllegalStateException("the server did not start: " + lastWords());
    }
    return ready;
  }

  private String lastWords() {
    try {
      return Files.readString(output) + Files.readString(log);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the process, to stop or to end it. */
  public Process process() {
    return process;
  }

  /** Returns the port of gRPC. */
  public int grpcPort() {
    return grpcPort;
  }

  /** Returns the port of HTTP. */
  public int httpPort() {
    return URI.create(url).getPort();
  }

  /** Returns where HTTP is, such as {@code http://127.0.0.1:8080}. */
  public String url() {
    return url;
  }

  /** Returns the time from the command to the line that it is ready. */
  public Duration startTime() {
    return startTime;
  }

  /** Returns what all servers of this folder have written to standard error. */
  public String log() throws IOException {
    return Files.readString(log);
  }

  /** Returns whether the process runs. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /** Returns the memory that the process occupies. */
  public double residentMegabytes() throws IOException {
    String status = Files.readString(Path.of("/proc", String.valueOf(process.pid()), "status"));
    Matcher resident = RESIDENT.matcher(status);
    if (!resident.find()) {
      throw new IllegalStateException("no memory in " + status);
    }
    return Long.parseLong(resident.group(1)) / 1024.0;
  }

  /** Waits for the process to end, up to a minute, and returns its exit code. */
  public int exitCode() throws InterruptedException {
    if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the server has not ended within " + END_SECONDS + " s");
    }
    return process.exitValue();
  }

  private void kill() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  /** Kills the process, as SIGKILL does; returns when it is dead. */
  @Override
  public void close() {
    kill();
    process.onExit().join();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
