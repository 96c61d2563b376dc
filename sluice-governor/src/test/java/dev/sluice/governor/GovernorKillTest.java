package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that is killed again and again is never granted more, and has what it was granted. */
@Tag("any-jdk")
class GovernorKillTest {
  private static final int KILLS = Integer.getInteger("sluice.kills", 2);

  @TempDir Path temp;

  /** A grant, between two readings of the clock. */
  private static final class Charge {
    final long before;
    final long after;
    long net;

    Charge(long net, long before, long after) {
      this.net = net;
      this.before = before;
      this.after = after;
    }
  }

  private final Map<String, Charge> charges = new LinkedHashMap<>();
  private final List<String> open = new ArrayList<>();
  private final List<String> lost = new ArrayList<>();

  /** Settled, or not, as the process was killed: the refund of these is unknown. */
  private final List<String> unknown = new ArrayList<>();

  private Process start(Path ledger) throws IOException {
    Path known = Files.write(temp.resolve("known"), open);
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            GovernorKillMain.class.getName(),
            temp.resolve("governor").toString(),
            ledger.toString(),
            known.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private void hear(String line) {
    String[] words = line.split(" ", -1);
    switch (words[0]) {
      case "got" -> {
        charges.put(
            words[1],
            new Charge(
                Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4])));
        open.add(words[1]);
      }
      case "settling" -> {
        open.remove(words[1]);
        unknown.add(words[1]);
      }
      case "settled" -> {
        unknown.remove(words[1]);
        charges.get(words[1]).net -= Long.parseLong(words[2]);
      }
      case "lost" -> lost.add(words[1]);
      default -> throw new AssertionError(line);
    }
  }

  @Test
  void kill_refillsNothing_andLosesNoReservation() throws Exception {
    Random random = new Random(1);
    for (int i = 0; i <= KILLS; i++) {
      Path ledger = Files.createFile(temp.resolve("ledger" + i));
      Process process = start(ledger);
      try {
        // Enough for the burst to be used up.
        long more = 15_000L + random.nextInt(15_000);
        await()
            .atMost(Duration.ofMinutes(1))
            .until(() -> Files.size(ledger) > more || !process.isAlive());
        assertThat(process.isAlive()).isTrue();
      } finally {
        process.destroyForcibly().waitFor();
      }
      String written = Files.readString(ledger);
      // The last line may be cut off.
      written.substring(0, written.lastIndexOf('\n') + 1).lines().forEach(this::hear);
    }
    unknown.forEach(id -> charges.get(id).net = 0);
    assertThat(unknown).hasSizeLessThanOrEqualTo(KILLS + 1);
    assertThat(lost).isEmpty();
    assertThat(open).isNotEmpty();
    List<Charge> all = List.copyOf(charges.values());
    for (int from = 0; from < all.size(); from++) {
      long sum = 0;
      for (int to = from; to < all.size(); to++) {
        sum += all.get(to).net;
        double seconds = (all.get(to).after - all.get(from).before) / 1e9;
        assertThat((double) sum)
            .isLessThanOrEqualTo(
                GovernorKillMain.BURST + GovernorKillMain.TARGET / 60.0 * seconds + 1);
      }
    }
  }
}
