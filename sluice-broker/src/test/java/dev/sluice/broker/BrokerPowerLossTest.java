package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.PowerLoss.Cut;
import dev.sluice.broker.internal.store.rocks.WalFiles;
import dev.sluice.broker.internal.store.rocks.WalPosition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Confirmed results survive a power loss: after the kill everything is cut off that no sync had
 * reached before the last answer. More cycles with {@code -Dsluice.cycles=100}.
 */
@Tag("any-jdk")
@Timeout(1_800)
final class BrokerPowerLossTest {
  private static final int CYCLES = Integer.getInteger("sluice.cycles", 2);
  private static final int MAX_MILLIS = 1_000;

  @TempDir private Path temp;
  private final long seed = Long.getLong("sluice.seed", new Random().nextLong());
  private KillDriver driver;

  @BeforeEach
  void open() {
    driver = new KillDriver(temp.resolve("ledger"), seed);
  }

  @Test
  void powerLoss_losesNothingConfirmed() throws Exception {
    Path dir = temp.resolve("broker");
    while (driver.cycles() < CYCLES) {
      driver.cycle(dir, "power", MAX_MILLIS);
      Path image = temp.resolve("image" + driver.cycles());
      cut(dir, image, driver.random.nextBoolean() ? Cut.EARLIEST : Cut.TORN);
      dir = image;
    }
    driver.drain(dir);
    System.out.println("BrokerPowerLossTest: " + driver.summary());
    assertThat(driver.violations(KillCheck.Fault.POWER)).as("seed %d", seed).isEmpty();
  }

  /** Shows that the cut is one, and that the kill alone would not tell. */
  @Test
  void brokerThatNeverSyncs_isDetected() throws Exception {
    Path dir = temp.resolve("broker");
    driver.cycle(dir, "power", 1);
    driver.cycleUntilConfirmed(dir, "nosync");
    Path image = temp.resolve("image");
    cut(dir, image, Cut.EARLIEST);
    Path ledger = Files.copy(driver.ledger, temp.resolve("copy"));
    driver.drain(dir);
    assertThat(driver.violations(KillCheck.Fault.POWER)).as("killed only").isEmpty();
    Files.copy(ledger, driver.ledger, StandardCopyOption.REPLACE_EXISTING);
    driver.drain(image);
    assertThat(driver.violations(KillCheck.Fault.POWER)).anyMatch(word -> word.startsWith("lost"));
  }

  private void cut(Path from, Path to, Cut cut) throws IOException {
    WalPosition durable = KillHistory.read(driver.ledger).synced;
    Path newest = StoreImage.newestLog(from);
    assertThat(WalFiles.in(from).lastKey()).as("the log of the last sync").isEqualTo(durable.log());
    assertThat(Files.size(newest)).isGreaterThanOrEqualTo(durable.bytes());
    PowerLoss.cut(from, to, durable, cut, driver.random);
  }
}
