package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code ./sluice serve}, as anybody starts it. */
final class ServerProcess implements AutoCloseable {
  private static final Pattern READY =
      Pattern.compile("sluice is ready: gRPC on .*:(\\d+), HTTP on http://.*:(\\d+), data in .*");
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

  final int grpcPort;
  final int httpPort;

  /** From the command to the line that says so. */
  final double startMillis;

  private final Child child;

  ServerProcess(Path folder) throws IOException, InterruptedException {
    Path command = Path.of(System.getProperty("sluice.root"), "sluice");
    long from = System.nanoTime();
    child =
        new Child(
            folder,
            Map.of(),
            List.of(command.toString(), "serve", "--grpc-port", "0", "--http-port", "0"));
    Matcher ready = READY.matcher(child.awaitLine("sluice is ready"));
    startMillis = (System.nanoTime() - from) / 1e6;
    if (!ready.matches()) {
      throw new IllegalStateException("the server says something else: " + child.output());
    }
    grpcPort = Integer.parseInt(ready.group(1));
    httpPort = Integer.parseInt(ready.group(2));
  }

  double residentMegabytes() throws IOException {
    String status = Files.readString(Path.of("/proc", String.valueOf(child.pid()), "status"));
    Matcher resident = RESIDENT.matcher(status);
    if (!resident.find()) {
      throw new IllegalStateException("no memory in " + status);
    }
    return Long.parseLong(resident.group(1)) / 1024.0;
  }

  @Override
  public void close() {
    child.close();
  }
}
