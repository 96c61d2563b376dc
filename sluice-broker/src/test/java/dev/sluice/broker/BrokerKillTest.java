package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A broker whose process is killed at random moments under load keeps its promises. More cycles
 * with {@code -Dsluice.kills=300}, the same moments and choices with {@code -Dsluice.seed}.
 */
@Tag("any-jdk")
@Timeout(1_800)
final class BrokerKillTest {
  private static final int KILLS = Integer.getInteger("sluice.kills", 2);

  @TempDir private Path temp;

  @Test
  void killedBroker_keepsEveryGuarantee() throws Exception {
    long seed = Long.getLong("sluice.seed", new Random().nextLong());
    KillDriver driver = new KillDriver(temp.resolve("ledger"), seed);
    Path dir = temp.resolve("broker");
    while (driver.cycles() < KILLS) {
      driver.cycle(dir, "kill", 1_200);
    }
    driver.drain(dir);
    System.out.println("BrokerKillTest: " + driver.summary());
    assertThat(driver.violations(KillCheck.Fault.KILL)).as("seed %d", seed).isEmpty();
  }

  @Test
  void brokerWithAnOlderDataDirectory_isDetected() throws Exception {
    KillDriver driver = new KillDriver(temp.resolve("ledger"), 1);
    Path dir = temp.resolve("broker");
    driver.cycleUntilConfirmed(dir, "kill");
    Path old = StoreImage.copy(dir, temp.resolve("old"));
    driver.cycleUntilSettled(dir, "kill", 100);
    driver.drain(old);
    assertThat(driver.violations(KillCheck.Fault.KILL))
        .anyMatch(word -> word.startsWith("lost"))
        .anyMatch(word -> word.startsWith("delivered after its ack"));
  }
}
