package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.RedisServer;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Four processes on one hot limit: no window has more than the limit, whoever was granted.
 *
 * <p>{@code -Dsluice.fleet.seconds=60} runs it for longer.
 */
@Tag("any-jdk")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FleetProcessesTest {
  private static final int PROCESSES = 4;
  private static final int SECONDS = Integer.getInteger("sluice.fleet.seconds", 4);

  private static final List<FleetProcess.Mode> MODES = List.of(FleetProcess.Mode.values());

  @TempDir private Path dir;
  private final List<Process> processes = new ArrayList<>();
  private final List<BufferedReader> outputs = new ArrayList<>();

  @Test
  void processes_onOneLimit_noWindowHasMore() throws Exception {
    try (RedisServer server = RedisServer.start()) {
      for (int i = 0; i < PROCESSES; i++) {
        start(server.uri(), i);
      }
      for (FleetProcess.Mode mode : MODES) {
        run();
        assertWindows(mode);
      }
    } finally {
      processes.forEach(Process::destroyForcibly);
    }
  }

  private Path file(int process, String mode) {
    return dir.resolve("grants-" + process + "-" + mode);
  }

  private void start(String url, int number) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:TieredStopAtLevel=1");
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(FleetProcess.class.getName(), url, Integer.toString(SECONDS)));
    command.add(file(number, "").toString());
    MODES.forEach(mode -> command.add(mode.name()));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    processes.add(process);
    outputs.add(process.inputReader(StandardCharsets.UTF_8));
  }

  private void run() throws IOException {
    for (BufferedReader output : outputs) {
      assertThat(output.readLine()).isEqualTo(FleetProcess.READY);
    }
    for (Process process : processes) {
      BufferedWriter orders = process.outputWriter(StandardCharsets.UTF_8);
      orders.append("go\n").flush();
    }
    for (BufferedReader output : outputs) {
      String last = output.readLine();
      System.out.println("process: " + last);
      assertThat(last).startsWith(FleetProcess.DONE);
    }
  }

  private void assertWindows(FleetProcess.Mode mode) throws IOException {
    WindowLog log = new WindowLog();
    List<Integer> each = new ArrayList<>();
    for (int i = 0; i < PROCESSES; i++) {
      List<String> grants = Files.readAllLines(file(i, mode.name()));
      each.add(grants.size());
      for (String grant : grants) {
        String[] times = grant.split(" ", -1);
        log.record(Long.parseLong(times[0]), Long.parseLong(times[1]), 1);
      }
    }
    long excess = log.maxExcess(FleetProcess.CAPACITY, FleetProcess.RATE);
    double seconds = (log.last() - log.first()) / 1e6;
    double most = FleetProcess.CAPACITY + FleetProcess.RATE * seconds;
    System.out.printf(
        "fleet %s: %d grants %s in %.1f s, %.1f %% of the limit, excess %d%n",
        mode, log.size(), each, seconds, 100 * log.size() / most, excess);
    assertThat(excess).isLessThanOrEqualTo(0);
    assertThat(each).allMatch(grants -> grants > 0);
  }
}
