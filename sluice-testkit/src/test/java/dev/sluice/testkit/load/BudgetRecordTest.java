package dev.sluice.testkit.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("any-jdk")
class BudgetRecordTest {
  private static final int VICTIM = 1;

  @TempDir private Path dir;
  private Path survivor;
  private Path victim;

  @BeforeEach
  void files() {
    survivor = dir.resolve("p0");
    victim = dir.resolve("p1");
  }

  /** The victim was granted 60 and used 20; another node was granted 30 of the refunded 40. */
  private BudgetRecord record(String... more) throws IOException {
    Files.writeString(survivor, "granted m 1000 40 0 P1 p0-1 t\ngranted m 2000 30 0 P1 p0-2 t\n");
    Files.writeString(victim, "granted m 1000 60 0 P1 p1-1 t\n" + String.join("\n", more) + "\n");
    return BudgetRecord.read(List.of(survivor, victim));
  }

  private static long excess(BudgetRecord record) {
    return record.excess("m", 100, 0);
  }

  @Test
  void settlementWithoutAnAnswer_ofAKilledNode_mayHaveReturnedTokens() throws IOException {
    BudgetRecord record = record("settling p1-1 40");
    record.mayReturn(VICTIM, key -> key.startsWith("p1-"));
    assertThat(excess(record)).isEqualTo(-10);
  }

  @Test
  void settlementWithAnAnswer_ofAKilledNode_countsItsRefund() throws IOException {
    BudgetRecord record = record("settling p1-1 40", "refunded m 1000 10", "settled p1-1");
    record.mayReturn(VICTIM, key -> key.startsWith("p1-"));
    assertThat(excess(record)).isEqualTo(20);
  }

  @Test
  void settlementWithoutAnAnswer_ofALiveNode_returnsNothing() throws IOException {
    assertThat(excess(record("settling p1-1 40"))).isEqualTo(30);
  }

  @Test
  void slowCall_isReadWithTheTimeOfItsStandstill() throws IOException {
    BudgetRecord.SlowCall slow = record("slow settle 175000 60000").slowCalls().get(0);
    assertThat(slow.call()).isEqualTo("settle");
    assertThat(slow.ownMillis()).isEqualTo(115);
  }
}
