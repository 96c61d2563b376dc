package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.monitor.RefillLog;
import java.util.List;
import org.junit.jupiter.api.Test;

class RefillLogTest {
  private final RefillLog log = new RefillLog("AX9F7E2B-sonnet-4-5", SeedBudget.CLASSES.keySet());

  @Test
  void linesAreThoseOfTheSeed() {
    log.refilled(240_000, 300_000);
    for (int i = 0; i < 7; i++) {
      log.servedFromLine("P1_user");
    }
    for (int i = 0; i < 3; i++) {
      log.servedFromLine("P0_clinical");
    }
    assertThat(log.lines())
        .containsExactly(
            "Refilled AX9F7E2B-sonnet-4-5: +240000 tokens (60000 → 300000)",
            "Processed 3 jobs from P0_clinical queue",
            "Processed 7 jobs from P1_user queue");
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void refills_areSummedUp_andAddUp() {
    log.refilled(10, 110);
    log.refilled(20, 90);
    log.refilled(5, 95);
    assertThat(log.lines())
        .containsExactly("Refilled AX9F7E2B-sonnet-4-5: +35 tokens (100 → 95), 40 taken since");
    log.refilled(1, 0);
    log.refilled(1, 51);
    assertThat(log.lines())
        .containsExactly("Refilled AX9F7E2B-sonnet-4-5: +2 tokens (-1 → 51), 50 returned since");
  }

  @Test
  void reload_keepsTheCounts() {
    log.servedFromLine("P2_batch");
    log.reload(List.of("first", "P1_user"));
    log.servedFromLine("first");
    assertThat(log.lines())
        .containsExactly(
            "Processed 1 jobs from first queue", "Processed 1 jobs from P2_batch queue");
  }
}
