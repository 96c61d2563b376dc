package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
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
  private static final int SECONDS = Integer.getInteger("sluice.fleet.seconds", 2);

  private static final List<FleetProcess.Mode> MODES = List.of(FleetProcess.Mode.values());

  @TempDir private Path dir;
  private final List<JavaProcess> processes = new ArrayList<>();

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
      processes.forEach(JavaProcess::close);
    }
  }

  private Path file(int process, String mode) {
    return dir.resolve("grants-" + process + "-" + mode);
  }

  private void start(String url, int number) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of(url, Integer.toString(SECONDS), file(number, "").toString()));
    MODES.forEach(mode -> arguments.add(mode.name()));
    processes.add(JavaProcess.start(FleetProcess.class, arguments));
  }

  private void run() {
    processes.forEach(process -> process.await(FleetProcess.READY));
    processes.forEach(process -> process.send("go"));
    processes.forEach(
        process -> System.out.println("process: " + process.await(FleetProcess.DONE)));
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
