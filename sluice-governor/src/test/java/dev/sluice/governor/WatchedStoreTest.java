package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.internal.monitor.GovernorMonitor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The auditor and the alerts beside a store that decides. */
@Tag("any-jdk")
class WatchedStoreTest {
  private static final String MODEL = "m";

  /** One day for every 25 seeds of other simulations, whose runs are shorter. */
  private static final int DAYS = Math.max(1, Integer.getInteger("sluice.seeds", 500) / 25);

  /** A day of more than there is tokens for, by its seed. */
  private static final class Day implements AutoCloseable {
    final Random random;
    final VirtualTimer timer = new VirtualTimer();
    final GovernorMonitor watch;
    final BudgetStore store;
    final List<String> reservations = new ArrayList<>();
    final List<String> tickets = new ArrayList<>();

    Day(long seed) {
      random = new Random(seed);
      BudgetConfig config = config();
      watch = new GovernorMonitor(config, timer);
      store = LocalBudgetStore.inMemory(timer).open(config, watch.listener());
      watch.start(store::status);
    }

    private BudgetConfig config() {
      ModelBudget budget =
          SeedBudget.budget(6_000 + random.nextInt(60_000), 1_000 + random.nextInt(9_000))
              .allocation(Allocation.CEILING)
              .build();
      return BudgetConfig.builder()
          .models(
              Map.of(
                  MODEL,
                  budget.toBuilder()
                      .priorityClasses(SeedBudget.CLASSES)
                      .minimumShares(Map.of("P2_batch", 0.1))
                      .build(),
                  "other",
                  budget))
          .build();
    }

    void run() {
      for (int step = 0; step < 1_500; step++) {
        switch (random.nextInt(12)) {
          case 0, 1, 2, 3, 4 -> ask();
          case 5, 6 -> settle();
          case 7, 8 -> claim();
          case 9, 10 -> timer.advance((long) (random.nextDouble() * 2 * SECOND));
          default -> rarely();
        }
      }
    }

    private void ask() {
      String priority = List.of("P0_clinical", "P1_user", "P2_batch").get(random.nextInt(3));
      long tokens = 1L + random.nextInt(400);
      keep(store.request(TokenRequest.of(MODEL, tokens).withPriorityClass(priority)).join());
    }

    private void keep(TokenDecision outcome) {
      if (outcome instanceof TokenDecision.Granted granted) {
        reservations.add(granted.reservation());
      } else if (outcome instanceof TokenDecision.Queued queued) {
        tickets.add(queued.ticket());
      }
    }

    private void settle() {
      if (!reservations.isEmpty()) {
        String some = reservations.remove(random.nextInt(reservations.size()));
        store.settle(some, random.nextInt(500)).join();
      }
    }

    private void claim() {
      if (!tickets.isEmpty()) {
        String some = tickets.remove(random.nextInt(tickets.size()));
        if (random.nextInt(4) == 0) {
          store.cancel(some).join();
        } else {
          store.poll(some).join().ifPresent(this::keep);
        }
      }
    }

    private void rarely() {
      if (random.nextInt(20) == 0) {
        BudgetConfig changed = config();
        watch.reload(changed);
        timer.advance(random.nextInt(2) * SECOND);
        store.reload(changed).join();
      } else if (random.nextInt(20) == 0) {
        double factor = 0.5 + random.nextInt(6) / 10.0;
        store.adjust(MODEL, new ProviderAdjustment(factor, null, Duration.ZERO)).join();
      }
    }

    @Override
    public void close() {
      watch.close();
      store.close();
    }

    GovernorStatus.Model status() {
      return watch.watched(store.status().join()).models().get(MODEL);
    }
  }

  @Test
  void randomDay_raisesNoAuditError() {
    for (long seed = 0; seed < DAYS; seed++) {
      try (Day day = new Day(seed)) {
        day.run();
        GovernorStatus.Audit audit = day.status().audit();
        assertThat(audit.errorTokens()).as("seed %d", seed).isZero();
        assertThat(audit.worstTokens()).as("seed %d", seed).isPositive();
      }
    }
  }

  @Test
  void auditOfAStore_countsItsGrants() {
    try (Day day = new Day(0)) {
      day.watch.reload(
          BudgetConfig.builder().models(Map.of(MODEL, budget(60_000, 10_000))).build());
      day.store
          .reload(BudgetConfig.builder().models(Map.of(MODEL, budget(60_000, 10_000))).build())
          .join();
      day.timer.advance(10 * MINUTE);
      String first = ((TokenDecision.Granted) day.store.request(of(6_000)).join()).reservation();
      day.store.request(of(4_000)).join();
      TokenDecision third = day.store.request(of(2_000)).join();
      assertThat(third).isInstanceOf(TokenDecision.Queued.class);
      assertThat(day.status().audit())
          .isEqualTo(new GovernorStatus.Audit(10_000, 70_000, 0, 10_000, 0));
      day.store.settle(first, 1_000).join();
      assertThat(day.store.poll(((TokenDecision.Queued) third).ticket()).join().orElseThrow())
          .isInstanceOf(TokenDecision.Granted.class);
      assertThat(day.status().audit())
          .isEqualTo(new GovernorStatus.Audit(7_000, 70_000, 0, 10_000, 0));
    }
  }

  @Test
  void modelThatCannotGrantItsFirstWaiter_raisesAnAlertUntilItCan() {
    try (Day day = new Day(0)) {
      day.watch.reload(
          BudgetConfig.builder().models(Map.of(MODEL, budget(60_000, 100_000))).build());
      day.store
          .reload(BudgetConfig.builder().models(Map.of(MODEL, budget(60_000, 100_000))).build())
          .join();
      day.timer.advance(300 * MINUTE);
      day.store.request(of(50_000)).join();
      // Half of the burst is left, and the first waiting request needs nine tenths: 40 s.
      TokenDecision.Queued head = (TokenDecision.Queued) day.store.request(of(90_000)).join();
      day.timer.advance(5 * SECOND - 1);
      assertThat(day.status().alerts()).isEmpty();
      day.timer.advance(5 * SECOND + 1);
      assertThat(day.status().alerts())
          .extracting(GovernorStatus.Alert::kind)
          .containsExactly(GovernorStatus.Alert.Kind.BUCKET_EXHAUSTED);
      day.store.poll(head.ticket()).join();
      day.timer.advance(28 * SECOND);
      day.store.poll(head.ticket()).join();
      assertThat(day.status().alerts()).hasSize(1);
      day.timer.advance(7 * SECOND);
      assertThat(day.store.poll(head.ticket()).join().orElseThrow())
          .isInstanceOf(TokenDecision.Granted.class);
      assertThat(day.status().alerts()).isEmpty();
    }
  }

  @Test
  void emptiedWaitingList_raisesNoAlert() {
    try (Day day = new Day(0)) {
      day.watch.reload(BudgetConfig.builder().models(Map.of(MODEL, budget(60, 10_000))).build());
      day.store
          .reload(BudgetConfig.builder().models(Map.of(MODEL, budget(60, 10_000))).build())
          .join();
      day.timer.advance(300 * MINUTE);
      day.store.request(of(10_000)).join();
      day.timer.advance(20 * SECOND);
      assertThat(day.status().alerts()).isEmpty();
      TokenDecision.Queued only = (TokenDecision.Queued) day.store.request(of(5_000)).join();
      day.timer.advance(10 * SECOND);
      assertThat(day.status().alerts()).hasSize(1);
      day.store.cancel(only.ticket()).join();
      day.timer.advance(5 * SECOND);
      assertThat(day.status().alerts()).isEmpty();
    }
  }

  private static ModelBudget budget(long target, long burst) {
    return SeedBudget.budget(target, burst).build();
  }

  private static TokenRequest of(long tokens) {
    return TokenRequest.of(MODEL, tokens).withPriorityClass("P1_user");
  }
}
