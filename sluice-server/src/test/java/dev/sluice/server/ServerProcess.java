package dev.sluice.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A server in a process of its own, to be killed. */
final class ServerProcess implements AutoCloseable {
  private static final String PORTS = "ports ";

  private final Process process;
  private final int grpcPort;
  private final int httpPort;

  private ServerProcess(Process process, int grpcPort, int httpPort) {
    this.process = process;
    this.grpcPort = grpcPort;
    this.httpPort = httpPort;
  }

  /** {@code flags} are the virtual machine's. */
  static ServerProcess start(Path dir, String... flags) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:TieredStopAtLevel=1");
    command.addAll(List.of(flags));
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            ServerProcess.class.getName(),
            dir.toString()));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(PORTS)) {
        String[] ports = line.substring(PORTS.length()).split(" ", -1);
        return new ServerProcess(process, Integer.parseInt(ports[0]), Integer.parseInt(ports[1]));
      }
    }
    throw new IOException("the server did not start");
  }

  boolean isAlive() {
    return process.isAlive();
  }

  int grpcPort() {
    return grpcPort;
  }

  int httpPort() {
    return httpPort;
  }

  /** Without a word of warning to it. */
  @Override
  public void close() {
    process.destroyForcibly();
    boolean interrupted = false;
    while (process.isAlive()) {
      try {
        process.waitFor();
      } catch (InterruptedException later) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Serves the directory of the first argument until it is killed or nobody listens to it. */
  public static void main(String[] args) throws IOException {
    SluiceServer server =
        SluiceServer.start(
            ServerConfig.defaults(Path.of(args[0])).withListen(ListenConfig.ANYWHERE));
    System.out.println(PORTS + server.grpcPort() + " " + server.httpPort());
    while (System.in.read() >= 0) {
      // The end of this stream is the end of the test.
    }
    server.close();
  }
}
