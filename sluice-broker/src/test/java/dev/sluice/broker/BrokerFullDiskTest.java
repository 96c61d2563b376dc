package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file system that is nearly full, and one that is; see {@link RocksStoreFullDiskTest}. */
@Tag("any-jdk")
@Timeout(120)
final class BrokerFullDiskTest {
  private static final long RESERVE = 12 << 20;

  private static final String REFUSAL =
      "WAITING_FOR_SPACE: the disk is full: the broker waits for free space and then resumes"
          + " by itself";

  @TempDir private Path temp;

  /** The output of a process, by the first words of each line. */
  private Map<String, String> run(long reserve, int atOnce, long pauseMillis) throws Exception {
    String mount = "mount -t tmpfs -o size=80m tmpfs \"$0\" && exec \"$@\"";
    List<String> prefix = List.of("unshare", "-rm", "sh", "-c", mount, temp.toString());
    Process child =
        ChildJvm.start(
            prefix,
            BrokerFullDiskMain.class,
            temp.toString(),
            String.valueOf(reserve),
            String.valueOf(atOnce),
            String.valueOf(pauseMillis));
    Map<String, String> told = new HashMap<>();
    for (String line : ChildJvm.output(child)) {
      String[] parts = line.split(": ", 2);
      told.put(parts[0], parts[1]);
    }
    return told;
  }

  @Tag("long")
  @Test
  void belowTheReserve_messagesAreRefused_butSettled_untilThereIsRoom() throws Exception {
    assertMeetsReserve(run(RESERVE, 20, 100));
  }

  /** Faster than the broker looks at the disk by the clock. */
  @Tag("long")
  @Test
  void belowTheReserve_messagesAreRefused_atAnyRate() throws Exception {
    assertMeetsReserve(run(RESERVE, 800, 0));
  }

  private static void assertMeetsReserve(Map<String, String> told) {
    String refusal = "DISK_FULL: the disk is nearly full: no messages are accepted";
    assertThat(told)
        .containsEntry("enqueue", refusal)
        .containsEntry("enqueue again", refusal)
        .containsEntry("redrive", "0")
        .containsEntry("enqueue with room", "done")
        .containsEntry("too many", "0")
        .containsEntry("lost", "0")
        .containsEntry("enqueue at last", "done");
    assertThat(Integer.parseInt(told.get("acked half"))).isGreaterThan(100);
  }

  /** Writes many times what the disk holds. */
  @Tag("long")
  @Test
  void enqueuedAndAckedMessages_neverFillASmallDisk() throws Exception {
    assertThat(run(RESERVE, 1, 0)).containsEntry("churned", "done");
  }

  @Test
  void diskFilledByAnotherProcess_brokerWaitsForSpace_resumes_andLosesNothing() throws Exception {
    Map<String, String> told = run(RESERVE, 0, 0);
    for (String call : List.of("settle", "enqueue", "consume", "waiting")) {
      for (String round : List.of("1", "2")) {
        assertThat(told.get(call + " " + round)).as(call).isEqualTo(REFUSAL);
      }
    }
    assertThat(told)
        .containsEntry("status 1", "WAITING_FOR_SPACE")
        .containsEntry("status then 1", "RUNNING")
        .containsEntry("status 2", "WAITING_FOR_SPACE")
        .containsEntry("status then 2", "RUNNING")
        .containsEntry("again", "done")
        .containsEntry("stopped", "false")
        .containsEntry("lost", "0")
        .containsEntry("left", "false");
  }

  @Test
  void diskWithoutReserve_thatIsFull_keepsTheBrokerWaiting_andLosesNothing() throws Exception {
    Map<String, String> told = run(0, 20, 0);
    for (String call :
        List.of(
            "enqueue", "enqueue again", "ack", "nack", "extend", "stats", "create", "consume")) {
      assertThat(told.get(call)).as(call).isEqualTo(REFUSAL);
    }
    assertThat(told.get("close")).isEqualTo("done");
    assertThat(told.get("waiting consumer then")).isEqualTo(REFUSAL);
    assertThat(told.get("open while full")).matches("STORE_FAILED|lost=false");
    assertThat(told)
        .containsEntry("too many", "0")
        .containsEntry("lost", "0")
        .containsEntry("enqueue at last", "done");
    assertThat(told.get("waiting consumer")).isEqualTo(REFUSAL);
  }
}
