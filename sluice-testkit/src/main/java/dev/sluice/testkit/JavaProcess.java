package dev.sluice.testkit;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * A program of this class path in a JVM of its own, which reads commands and prints answers line by
 * line. It should end when its input ends, so that it does not outlive this JVM.
 *
 * @since 0.1
 */
public final class JavaProcess implements AutoCloseable {
  private static final int WARNS_SINCE = 24;
  private static final long PARK_NANOS = 1_000_000;

  private final Process process;
  private final BufferedReader answers;
  private final BufferedWriter orders;

  private JavaProcess(List<String> command) {
    try {
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    answers = process.inputReader(StandardCharsets.UTF_8);
    orders = process.outputWriter(StandardCharsets.UTF_8);
  }

  /** Starts it. */
  public static JavaProcess start(Class<?> program, List<String> arguments) {
    return new JavaProcess(command(List.of(), program, arguments));
  }

  /** Starts it on a clock that is so far ahead of this machine's, or behind. */
  public static JavaProcess startAt(Duration offset, Class<?> program, List<String> arguments) {
    Programs.find("faketime");
    List<String> command = new ArrayList<>(FakeClock.prefix(offset));
    command.addAll(command(List.of(), program, arguments));
    return new JavaProcess(command);
  }

  /**
   * Returns the command that runs a program of this class path, compiled fast and without the
   * warnings of newer JVMs.
   *
   * @param flags further flags of the JVM
   */
  public static List<String> command(List<String> flags, Class<?> program, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(property("java.home"), "bin", "java").toString());
    // In short runs, optimizing compilation costs more than it saves.
    command.add("-XX:TieredStopAtLevel=1");
    if (Runtime.version().feature() >= WARNS_SINCE) {
      command.add("--enable-native-access=ALL-UNNAMED");
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    String root = System.getProperty("sluice.root");
    if (root != null) {
      command.add("-Dsluice.root=" + root);
    }
    command.addAll(flags);
    command.addAll(List.of("-cp", property("java.class.path"), program.getName()));
    command.addAll(arguments);
    return command;
  }

  private static String property(String name) {
    return Objects.requireNonNull(System.getProperty(name), name);
  }

  /**
   * Waits until it prints a line that begins so; what it prints before is passed on.
   *
   * @return the rest of that line
   */
  public String await(String start) {
    try {
      for (String line = answers.readLine(); line != null; line = answers.readLine()) {
        if (line.startsWith(start)) {
          return line.substring(start.length());
        }
        System.out.println(line);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalStateException("the program ended before it printed: " + start);
  }

  /** Tells it a line. */
  public void send(String line) {
    try {
      orders.append(line).append('\n').flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the number of the process. */
  public long pid() {
    return process.pid();
  }

  /** Kills it, as SIGKILL does; returns once it is dead. */
  public void kill() {
    process.destroyForcibly();
    while (process.isAlive()) {
      LockSupport.parkNanos(PARK_NANOS);
    }
  }

  /** The same. */
  @Override
  public void close() {
    kill();
  }
}
