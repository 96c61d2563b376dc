package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.spi.TicketIds;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A damaged journal closes its model alone; once repaired, the model begins with no tokens. */
final class DamagedJournalTest {
  private static final String P0 = "P0_clinical";
  private static final BudgetConfig CONFIG =
      BudgetConfig.builder().models(Map.of("good", budget(), "bad", budget())).build();

  @TempDir private Path dir;
  private Path journal;
  private final VirtualTimer timer = new VirtualTimer();

  private static ModelBudget budget() {
    return SeedBudget.budget(60_000, 100_000).build();
  }

  private BudgetStore open() {
    return LocalBudgetStore.inDirectory(dir, timer).open(CONFIG, BudgetListener.NONE);
  }

  private static TokenDecision ask(BudgetStore store, String model, long tokens) {
    return store.request(TokenRequest.of(model, tokens).withPriorityClass(P0)).join();
  }

  @BeforeEach
  void damage() throws Exception {
    try (BudgetStore store = open()) {
      ask(store, "good", 90_000);
      ask(store, "bad", 90_000);
    }
    journal = dir.resolve(TicketIds.tagOf("bad") + ".journal");
    byte[] content = Files.readAllBytes(journal);
    content[9] ^= 1;
    Files.write(journal, content);
  }

  @Test
  void damagedJournal_closesItsModel_namesTheFileAndTheRepair_andOthersWork() {
    try (BudgetStore store = open()) {
      assertThat(ask(store, "good", 10_000)).isInstanceOf(TokenDecision.Granted.class);
      assertThatThrownBy(() -> ask(store, "bad", 1))
          .hasCauseInstanceOf(IllegalStateException.class)
          .hasMessageContaining("model bad is closed: " + journal + " is damaged at byte 0")
          .hasMessageContaining(
              "restore it, or rename it to " + journal.getFileName() + ".damaged and reload");
      assertThat(store.status().join().models()).containsOnlyKeys("good");
      assertThat(store.closedModels()).containsOnlyKeys("bad");
      // Neither reopening nor a reload repairs it; the reload of the other models succeeds.
      store.reopen();
      store.reload(CONFIG).join();
      assertThat(store.closedModels()).containsOnlyKeys("bad");
      assertThat(ask(store, "good", 1)).isInstanceOf(TokenDecision.Queued.class);
    }
  }

  @Test
  void renamedJournal_modelBeginsWithNoTokens() throws Exception {
    try (BudgetStore store = open()) {
      Files.move(journal, journal.resolveSibling(journal.getFileName() + ".damaged"));
      store.reload(CONFIG).join();
      assertThat(store.closedModels()).isEmpty();
      // The remaining 10,000 may have been granted as well; the damaged journal cannot tell.
      assertThat(store.status().join().models().get("bad").available()).isZero();
      timer.advance(WaitingListFixture.SECOND);
      assertThat(ask(store, "bad", 1_000)).isInstanceOf(TokenDecision.Granted.class);
    }
    try (BudgetStore store = open()) {
      assertThat(store.status().join().models().get("bad").available()).isZero();
    }
  }

  @Test
  void renamedJournal_beforeAStart_modelBeginsWithNoTokens() throws Exception {
    Files.move(journal, journal.resolveSibling(journal.getFileName() + ".damaged"));
    try (BudgetStore store = open()) {
      assertThat(store.closedModels()).isEmpty();
      assertThat(store.status().join().models().get("bad").available()).isZero();
    }
  }
}
