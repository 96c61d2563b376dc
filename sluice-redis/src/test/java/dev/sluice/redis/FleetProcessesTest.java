package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.RedisServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Four processes on one hot limit: no window has more than the limit, whoever was granted.
 *
 * <p>{@code -Dsluice.fleet.seconds=60} runs it for longer.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FleetProcessesTest {
  private static final int PROCESSES = 4;
  private static final int SECONDS = Integer.getInteger("sluice.fleet.seconds", 5);

  @TempDir private Path dir;

  @ParameterizedTest
  @EnumSource
  void processes_onOneLimit_noWindowHasMore(FleetProcess.Mode mode) throws Exception {
    try (RedisServer server = RedisServer.start()) {
      List<Process> processes = new ArrayList<>();
      try {
        for (int i = 0; i < PROCESSES; i++) {
          processes.add(start(server.uri(), mode, file(i)));
        }
        run(processes);
      } finally {
        processes.forEach(Process::destroyForcibly);
      }
      assertWindows(mode);
    }
  }

  private Path file(int process) {
    return dir.resolve("grants-" + process);
  }

  private static Process start(String url, FleetProcess.Mode mode, Path file) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            FleetProcess.class.getName(),
            url,
            mode.name(),
            Integer.toString(SECONDS),
            file.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static void run(List<Process> processes) throws Exception {
    List<BufferedReader> outputs = new ArrayList<>();
    for (Process process : processes) {
      BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
      outputs.add(output);
      assertThat(output.readLine()).isEqualTo(FleetProcess.READY);
    }
    for (Process process : processes) {
      process.outputWriter(StandardCharsets.UTF_8).append("go\n").close();
    }
    for (int i = 0; i < PROCESSES; i++) {
      String last = outputs.get(i).readLine();
      System.out.println("process " + i + ": " + last);
      assertThat(last).startsWith(FleetProcess.DONE);
      assertThat(processes.get(i).waitFor(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  private void assertWindows(FleetProcess.Mode mode) throws IOException {
    WindowLog log = new WindowLog();
    List<Integer> each = new ArrayList<>();
    for (int i = 0; i < PROCESSES; i++) {
      List<String> grants = Files.readAllLines(file(i));
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
