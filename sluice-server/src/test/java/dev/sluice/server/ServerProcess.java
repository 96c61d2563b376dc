package dev.sluice.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** A server in a process of its own, to be killed. */
final class ServerProcess implements AutoCloseable {
  private final Process process;
  private final int httpPort;

  private ServerProcess(Process process, int httpPort) {
    this.process = process;
    this.httpPort = httpPort;
  }

  static ServerProcess start(Path dir) throws IOException {
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path"),
                    ServerProcess.class.getName(),
                    dir.toString()))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith("http ")) {
        return new ServerProcess(process, Integer.parseInt(line.substring("http ".length())));
      }
    }
    throw new IOException("the server did not start");
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
        SluiceServer.start(ServerConfig.defaults(Path.of(args[0])).withListen(Listen.ANYWHERE));
    System.out.println("http " + server.httpPort());
    while (System.in.read() >= 0) {
      // The end of this stream is the end of the test.
    }
    server.close();
  }
}
