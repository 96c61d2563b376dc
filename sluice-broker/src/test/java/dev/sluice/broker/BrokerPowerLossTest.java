package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a broker confirmed survives a loss of power: after the kill everything is cut off that no
 * sync had reached before the last answer. More cycles with {@code -Dsluice.cycles=100}.
 */
@Timeout(1_800)
final class BrokerPowerLossTest {
  private static final int CYCLES = Integer.getInteger("sluice.cycles", 3);
  private static final int MAX_MILLIS = 1_000;

  @TempDir private Path temp;
  private final long seed = Long.getLong("sluice.seed", new Random().nextLong());
  private KillDriver driver;

  @BeforeEach
  void open() {
    driver = new KillDriver(temp.resolve("ledger"), seed);
  }

  @Test
  void lossOfPower_takesNothingThatWasConfirmed() throws Exception {
    Path dir = temp.resolve("broker");
    while (driver.cycles() < CYCLES) {
      driver.cycle(dir, "power", MAX_MILLIS);
      Path image = temp.resolve("image" + driver.cycles());
      cut(dir, image, driver.random.nextBoolean());
      dir = image;
    }
    driver.drain(dir);
    System.out.println("BrokerPowerLossTest: " + driver.summary());
    assertThat(driver.violations(KillCheck.Fault.POWER)).as("seed %d", seed).isEmpty();
  }

  /** Shows that the cut is one, and that the kill alone would not tell. */
  @Test
  void brokerThatNeverSyncs_failsThis() throws Exception {
    Path dir = temp.resolve("broker");
    driver.cycle(dir, "power", 1);
    driver.cycle(dir, "nosync", MAX_MILLIS);
    Path image = temp.resolve("image");
    cut(dir, image, false);
    Path ledger = Files.copy(driver.ledger, temp.resolve("copy"));
    driver.drain(dir);
    assertThat(driver.violations(KillCheck.Fault.POWER)).as("killed only").isEmpty();
    Files.copy(ledger, driver.ledger, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    driver.drain(image);
    assertThat(driver.violations(KillCheck.Fault.POWER)).anyMatch(word -> word.startsWith("lost"));
  }

  /** Copies a directory as the loss of power may leave it. */
  private void cut(Path from, Path to, boolean torn) throws IOException {
    StoreImage.copy(from, to);
    WalPosition durable = KillHistory.read(driver.ledger).synced;
    // Not synced itself: it may not have reached the disk.
    Files.delete(to.resolve(SyncMark.FILE));
    Map.Entry<Long, Path> newest = WalFiles.in(to).lastEntry();
    long size = Files.size(newest.getValue());
    assertThat(newest.getKey()).as("the log of the last sync").isEqualTo(durable.log());
    assertThat(size).isGreaterThanOrEqualTo(durable.bytes());
    long kept = durable.bytes();
    if (torn) {
      kept += driver.random.nextLong(size - kept + 1);
    }
    try (RandomAccessFile file = new RandomAccessFile(newest.getValue().toFile(), "rw")) {
      file.setLength(kept);
    }
  }
}
