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
  void slowCall_isParsedWithTheTimeOfItsPause() throws IOException {
    BudgetRecord.SlowCall slow = record("slow settle 175000 60000").slowCalls().get(0);
    assertThat(slow.call()).isEqualTo("settle");
    assertThat(slow.ownMillis()).isEqualTo(115);
  }

  /** 100 at once and 60 a minute, used up to the token. */
  private BudgetRecord usedUp(String... more) throws IOException {
    Files.writeString(survivor, "granted m 1000000 100 0 P1 a t\ngranted m 3000000 2 0 P1 b t\n");
    Files.writeString(victim, String.join("\n", more) + "\n");
    return BudgetRecord.read(List.of(survivor, victim));
  }

  @Test
  void oneTokenTooMany_isFound() throws IOException {
    assertThat(usedUp().excess("m", 100, 60)).isZero();
    assertThat(usedUp("granted m 3000000 1 0 P1 c t").excess("m", 100, 60)).isEqualTo(1);
    assertThat(usedUp("granted m 999999 1 0 P1 c t").excess("m", 100, 60)).isEqualTo(1);
    assertThat(usedUp("granted m 4000000 1 0 P1 c t").excess("m", 100, 60)).isZero();
  }

  /** An outage at one node, in which it made grants by itself. */
  private BudgetRecord alone(String... grants) throws IOException {
    return record("outage", String.join("\n", grants), "returned 9000000");
  }

  @Test
  void overtakenCaller_isFound() throws IOException {
    // The second one was granted later, and had asked a second before the first.
    String first = "granted m 5000000 1 1000000 P1 a t";
    assertThat(alone(first, "granted m 5100000 1 2100000 P1 b t").overtakenAlone()).hasSize(1);
    assertThat(alone(first, "granted m 5100000 1 900000 P1 b t").overtakenAlone()).isEmpty();
    assertThat(alone(first, "granted m 5100000 1 2100000 P2 b t").overtakenAlone()).isEmpty();
  }

  @Test
  void lowerClassThatIsServedFirst_isFound() throws IOException {
    String lower = "granted m 5000000 1 0 P2 a t";
    assertThat(alone(lower, "granted m 5100000 1 500000 P0 b t").invertedAlone("m", "P2", "P0"))
        .hasSize(1);
    // The caller of the higher class asked later.
    assertThat(alone(lower, "granted m 5100000 1 50000 P0 b t").invertedAlone("m", "P2", "P0"))
        .isEmpty();
  }

  @Test
  void secondGrantUnderOneKey_isFound() throws IOException {
    assertThat(record("told k r-1", "told k r-1", "told l r-2").keysWithSeveralGrants()).isEmpty();
    assertThat(record("told k r-1", "told k r-2").keysWithSeveralGrants()).hasSize(1);
  }
}
