package dev.sluice.testkit.redis;

import dev.sluice.testkit.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One redis-server at a time, with its folder and its log.
 *
 * <p>No server outlives this JVM. One that ends in order kills them in a shutdown hook. For one
 * that is itself killed there is a watcher: the server starts as a shell that leaves a child behind
 * and turns into the server, so the number of the process stays the same. The child reads from a
 * pipe that only this JVM holds open; the pipe ends with the JVM, and the child kills the server.
 * Java closes the pipe too when the server ends first, so no watcher outlives its server.
 */
final class RedisProcess implements AutoCloseable {
  private static final long PARK_NANOS = 1_000_000;
  private static final String WATCHED =
      "exec 3<&0; (cat <&3 >/dev/null; kill -9 $$ 2>/dev/null) & exec \"$@\" 3<&- </dev/null";
  private static final Duration START_LIMIT = Duration.ofSeconds(20);
  private static final Duration SIGNAL_LIMIT = Duration.ofSeconds(10);
  private static final int LOG_LINES = 8;
  private static final Set<RedisProcess> OPEN = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> OPEN.forEach(RedisProcess::abandon), "redis-leftovers"));
  }

  private final Path dir;
  private final RedisConsole console;
  private final List<String> command;
  private volatile @Nullable Process process;

  /** A process that is not started yet; closing it removes the folder. */
  RedisProcess(Path dir, RedisConsole console, List<String> command) {
    this.dir = dir;
    this.console = console;
    this.command = List.copyOf(command);
    OPEN.add(this);
  }

  /** Another process took the port since it was found free. */
  static final class PortTakenException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    PortTakenException(String message) {
      super(message);
    }
  }

  static Path newDir() {
    try {
      return Files.createTempDirectory("sluice-redis");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts it, and returns once it answers. */
  synchronized void start() {
    if (isAlive()) {
      throw new IllegalStateException("the server runs already: pid=" + pid());
    }
    List<String> line = new ArrayList<>(List.of("sh", "-c", WATCHED, "sh"));
    line.addAll(command);
    try {
      process =
          new ProcessBuilder(line)
              .directory(dir.toFile())
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.to(log().toFile()))
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Await.until(() -> "a server that answers\n" + lastLines(), START_LIMIT, this::answers);
  }

  synchronized boolean isAlive() {
    Process last = process;
    return last != null && last.isAlive();
  }

  /** Of the process that runs or ran last. */
  synchronized long pid() {
    return started().pid();
  }

  /** SIGKILL; returns once it is dead. Harmless if it is. */
  synchronized void kill() {
    Process last = process;
    if (last == null) {
      return;
    }
    last.destroyForcibly();
    // Not waitFor, which a pending interrupt would end; nor onExit, which needs the common pool.
    while (last.isAlive()) {
      LockSupport.parkNanos(PARK_NANOS);
    }
  }

  /** Sends SIGSTOP; returns once the process is stopped. */
  synchronized void pause() {
    signal("STOP");
    Await.until(() -> "a server that stands still", SIGNAL_LIMIT, () -> state() == 'T');
  }

  /** SIGCONT. */
  synchronized void resume() {
    signal("CONT");
    Await.until(() -> "a server that goes on", SIGNAL_LIMIT, () -> state() != 'T');
  }

  /** Closes it, even while another thread waits for it to start. */
  private void abandon() {
    Process running = process;
    if (running != null) {
      running.destroyForcibly();
    }
    close();
  }

  @Override
  public void close() {
    kill();
    OPEN.remove(this);
    delete(dir);
  }

  /** Deletes a file, or a folder and all that is in it; harmless if there is none. */
  static void delete(Path root) {
    if (!Files.exists(root)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(root)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean answers() {
    if (!isAlive()) {
      String log = lastLines();
      if (log.contains("Address already in use")) {
        throw new PortTakenException(log);
      }
      throw new IllegalStateException("the server ended as it started:\n" + log);
    }
    try {
      // Another server may hold the port; ours is about to notice.
      return console.info("server", "process_id").equals(Long.toString(pid()))
          && "PONG".equals(console.command(List.of("PING")));
    } catch (UncheckedIOException | IllegalStateException e) {
      return false; // not listening yet, or, to PING, still loading its data
    }
  }

  private void signal(String name) {
    if (!isAlive()) {
      throw new IllegalStateException("the server is not running: pid=" + pid());
    }
    try {
      int status =
          new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid())
              .inheritIO()
              .start()
              .onExit()
              .join()
              .exitValue();
      if (status != 0) {
        throw new IllegalStateException("no signal " + name + " to pid " + pid());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** As the kernel names it, T for stopped: the first letter after the name in brackets. */
  private char state() {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid()), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process started() {
    Process last = process;
    if (last == null) {
      throw new IllegalStateException("the server was never started");
    }
    return last;
  }

  private Path log() {
    return dir.resolve("redis.log");
  }

  private String lastLines() {
    try {
      List<String> lines = Files.readAllLines(log());
      return String.join("\n", lines.subList(Math.max(0, lines.size() - LOG_LINES), lines.size()));
    } catch (IOException e) {
      return "no log: " + e.getMessage();
    }
  }
}
