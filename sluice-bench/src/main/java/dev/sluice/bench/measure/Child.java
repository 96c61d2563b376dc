package dev.sluice.bench.measure;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A process that ends with this one; what it prints goes to a file. */
public final class Child implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int POLL_MS = 5;

  private final Process process;
  private final Path output;
  private final Thread atExit = new Thread(this::kill);

  public Child(Path folder, Map<String, String> environment, List<String> command)
      throws IOException {
    Files.createDirectories(folder);
    output = folder.resolve("output-" + System.nanoTime());
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().putAll(environment);
    Runtime.getRuntime().addShutdownHook(atExit);
    process = builder.start();
  }

  long pid() {
    return process.pid();
  }

  public String output() throws IOException {
    return Files.readString(output);
  }

  /** Waits until it listens there. */
  public void awaitPort(int port) throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!listens(port)) {
      requireAlive(end);
      Thread.sleep(POLL_MS);
    }
  }

  /** Waits until it has printed a line that begins so, and returns it. */
  String awaitLine(String start) throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    for (; ; ) {
      String printed = output();
      int at = printed.indexOf(start);
      int until = printed.indexOf('\n', Math.max(0, at));
      if (at >= 0 && until > at) {
        return printed.substring(at, until);
      }
      requireAlive(end);
      Thread.sleep(POLL_MS);
    }
  }

  /** Waits until it ends by itself, which it must do well. */
  public void awaitEnd(Duration timeout) throws IOException, InterruptedException {
    if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS) || process.exitValue() != 0) {
      throw new IllegalStateException("it failed or did not end: " + output());
    }
  }

  private void requireAlive(long end) throws IOException {
    if (!process.isAlive() || System.nanoTime() > end) {
      throw new IllegalStateException("it did not start: " + output());
    }
  }

  private static boolean listens(int port) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  public static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void kill() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  /** Asks it to end, and insists after a while. */
  @Override
  public void close() {
    List<ProcessHandle> descendants = process.descendants().toList();
    process.destroy();
    process.onExit().completeOnTimeout(process, PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
    descendants.forEach(ProcessHandle::destroyForcibly);
    kill();
    process.onExit().join();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
