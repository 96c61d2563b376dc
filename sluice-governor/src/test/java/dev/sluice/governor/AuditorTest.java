package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.MS;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.engine.TokenWaiter;
import dev.sluice.governor.internal.monitor.Auditor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
class AuditorTest {
  private static final ModelBudget SONNET = SeedBudget.budget(240_000, 300_000).build();
  private static final long START = -7 * MS;

  private final Auditor auditor = new Auditor(SONNET, START);

  /** Something that was granted. */
  private static final class Grant {
    final long at;
    final long tokens;
    long net;

    Grant(long at, long tokens) {
      this.at = at;
      this.tokens = tokens;
      this.net = tokens;
    }
  }

  /** The same count the long way: every grant for every window. */
  private static final class Ledger {
    final List<Grant> grants = new ArrayList<>();
    final ModelBudget budget;
    long slot;
    long error;
    long worst;

    Ledger(ModelBudget budget) {
      this.budget = budget;
    }

    /** Grants that were not checked yet are checked when their slot is over. */
    void advance(long now) {
      if (now / Auditor.SLOT_NANOS > slot) {
        check();
        slot = now / Auditor.SLOT_NANOS;
      }
    }

    void check() {
      if (grants.isEmpty() || grants.get(grants.size() - 1).at / Auditor.SLOT_NANOS != slot) {
        return;
      }
      long end = grants.get(grants.size() - 1).at;
      for (long from = Math.max(0, slot - Auditor.WINDOW_SLOTS); from <= slot; from++) {
        long begin = from * Auditor.SLOT_NANOS;
        long sum =
            grants.stream().filter(each -> each.at >= begin).mapToLong(each -> each.net).sum();
        error = Math.max(error, (long) Math.ceil(sum - limit(budget, end - begin) - 1e-6));
        worst = from == slot - Auditor.WINDOW_SLOTS ? worst : Math.max(worst, sum);
      }
    }

    /** Of all windows between two grants, however short, up to the longest. */
    double exactError(long longest) {
      double most = 0;
      for (int from = 0; from < grants.size(); from++) {
        long sum = 0;
        for (int to = from; to < grants.size(); to++) {
          long span = grants.get(to).at - grants.get(from).at;
          sum += grants.get(to).net;
          if (span <= longest) {
            most = Math.max(most, sum - limit(budget, span));
          }
        }
      }
      return most;
    }
  }

  private static double limit(ModelBudget budget, long nanos) {
    return budget.tokens().capacity() + (double) budget.tokens().refillTokens() * nanos / MINUTE;
  }

  private GovernorStatus.Audit report(long now) {
    return auditor.report(START + now);
  }

  private void grant(long tokens, long now) {
    auditor.granted(tokens, START + now);
  }

  @Test
  void grantsUpToTheLimit_areNoError() {
    grant(300_000, 0);
    grant(240_000, MINUTE - 1);
    assertThat(report(MINUTE - 1))
        .isEqualTo(new GovernorStatus.Audit(540_000, 540_000, 1, 540_000, 0));
    Auditor another = new Auditor(SONNET, 0);
    another.granted(300_000, 0);
    another.granted(239_999, MINUTE - 1);
    assertThat(another.report(MINUTE - 1))
        .isEqualTo(new GovernorStatus.Audit(539_999, 540_000, 0, 539_999, 0));
  }

  @Test
  void overAdmission_inAnInstant_isFound_andNeverForgotten() {
    grant(300_000, SECOND);
    assertThat(report(SECOND).errorTokens()).isZero();
    grant(240_000, SECOND);
    // Within what a minute may have, but not in one instant.
    assertThat(report(SECOND))
        .isEqualTo(new GovernorStatus.Audit(540_000, 540_000, 240_000, 540_000, 0));
    assertThat(report(10 * MINUTE))
        .isEqualTo(new GovernorStatus.Audit(0, 540_000, 240_000, 540_000, 0));
  }

  @Test
  void overAdmission_inSmallParts_isFound() {
    grant(300_000, 0);
    // 1 % more than what accrues.
    for (int i = 1; i <= 300; i++) {
      grant(808, 200 * MS * i);
    }
    assertThat(report(MINUTE).errorTokens()).isEqualTo(300 * 8);
  }

  @Test
  void refund_lowersTheCountOfItsGrant_whileThatIsInTheWindow() {
    grant(300_000, 0);
    auditor.refunded(100_000, START, START);
    grant(100_000, 50 * MS);
    assertThat(report(SECOND)).isEqualTo(new GovernorStatus.Audit(300_000, 540_000, 0, 300_000, 0));
    auditor.refunded(60_000, START + 50 * MS, START + SECOND);
    assertThat(report(SECOND).admittedTokens()).isEqualTo(240_000);
    grant(1_000, 2 * MINUTE);
    auditor.refunded(40_000, START + 50 * MS, START + 2 * MINUTE);
    auditor.refunded(500, START - MINUTE, START + 2 * MINUTE);
    assertThat(report(2 * MINUTE).admittedTokens()).isEqualTo(1_000);
  }

  @Test
  void window_endsAfterAMinute() {
    grant(1_000, 0);
    assertThat(report(MINUTE - 1).admittedTokens()).isEqualTo(1_000);
    assertThat(report(MINUTE).admittedTokens()).isZero();
  }

  @Test
  void reload_changesTheLimit_withoutFalseAlarm() {
    ModelBudget half = SeedBudget.budget(120_000, 150_000).build();
    grant(300_000, SECOND);
    auditor.reload(half, START + SECOND);
    // The store learns of it later, and has granted by the old limit until then.
    grant(4_000, 2 * SECOND);
    assertThat(report(2 * SECOND))
        .isEqualTo(new GovernorStatus.Audit(304_000, 270_000, 0, 304_000, 0));
    grant(150_000, 3 * MINUTE);
    assertThat(report(3 * MINUTE).errorTokens()).isZero();
    grant(1, 3 * MINUTE);
    assertThat(report(3 * MINUTE).errorTokens()).isEqualTo(1);
    auditor.reload(SONNET, START + 4 * MINUTE);
    grant(300_000, 4 * MINUTE + SECOND);
    assertThat(report(5 * MINUTE))
        .isEqualTo(new GovernorStatus.Audit(300_000, 540_000, 1, 304_000, 0));
  }

  @Test
  void largestBudget_isCountedExactly() {
    long most = 1_000_000_000_000L;
    Auditor large = new Auditor(SeedBudget.budget(most, most).build(), 0);
    large.granted(most, 0);
    large.granted(most, MINUTE - 1);
    // In a nanosecond less than a minute there is less than a token fewer for each 0.06.
    assertThat(large.report(MINUTE - 1))
        .isEqualTo(new GovernorStatus.Audit(2 * most, 2 * most, 17, 2 * most, 0));
  }

  @Test
  void randomHistory_matchesTheNaiveCount() {
    for (long seed = 0; seed < 30; seed++) {
      Random random = new Random(seed);
      ModelBudget budget =
          SeedBudget.budget(600 + random.nextInt(6_000), 1_000 + random.nextInt(3_000)).build();
      Auditor audit = new Auditor(budget, 0);
      Ledger ledger = new Ledger(budget);
      boolean refunds = random.nextBoolean();
      long now = 0;
      for (int step = 0; step < 120; step++) {
        now += (long) (random.nextDouble() * random.nextInt(4) * SECOND);
        ledger.advance(now);
        if (refunds && random.nextInt(3) == 0 && !ledger.grants.isEmpty()) {
          Grant some = ledger.grants.get(random.nextInt(ledger.grants.size()));
          long back = (long) (random.nextDouble() * some.net);
          some.net -= back;
          audit.refunded(back, some.at, now);
        } else {
          Grant next = new Grant(now, 1 + random.nextInt(300));
          ledger.grants.add(next);
          audit.granted(next.tokens, now);
        }
      }
      ledger.check();
      GovernorStatus.Audit report = audit.report(now);
      assertThat(report.errorTokens()).as("seed %d", seed).isEqualTo(ledger.error);
      assertThat(report.worstTokens()).as("seed %d", seed).isEqualTo(ledger.worst);
      if (!refunds) {
        double missed = (double) budget.tokens().refillTokens() * 2 * Auditor.SLOT_NANOS / MINUTE;
        assertThat((double) report.errorTokens())
            .as("seed %d", seed)
            .isBetween(
                ledger.exactError(MINUTE) - missed,
                ledger.exactError(MINUTE + Auditor.SLOT_NANOS) + 1);
      }
    }
  }

  @Test
  void waitingListWithRefunds_raisesNoError() {
    long errors = 0;
    for (long seed = 0; seed < 40; seed++) {
      errors += errorOfALine(seed, 1);
    }
    assertThat(errors).isZero();
    // One that lets through a tenth more than it should is found out.
    assertThat(errorOfALine(0, 1.1)).isPositive();
  }

  /** A line under load, whose budget is larger than what the auditor knows by some factor. */
  private static long errorOfALine(long seed, double factor) {
    Random random = new Random(seed);
    ModelBudget budget = SeedBudget.budget(60_000, 10_000).build();
    WaitingListFixture fixture =
        new WaitingListFixture(
            WaitingListFixture.limits(
                WaitingListFixture.limit(
                    (long) (10_000 * factor), (long) (60_000 * factor), MINUTE),
                1,
                1,
                1));
    Auditor audit = new Auditor(budget, 0);
    Map<TokenWaiter, Long> open = new HashMap<>();
    int told = 0;
    for (int step = 0; step < 2_000; step++) {
      if (random.nextInt(3) > 0) {
        fixture.ask(random.nextInt(3), 1 + random.nextInt(3_000));
      } else if (!open.isEmpty() && random.nextBoolean()) {
        TokenWaiter some = open.keySet().iterator().next();
        long at = open.remove(some);
        fixture.waitingList.advance(fixture.now);
        long back =
            fixture.waitingList.settle(
                fixture.granted.get(some), random.nextInt((int) some.demand.tokens() + 1));
        audit.refunded(back, at, fixture.now);
        fixture.drain();
      } else {
        fixture.advanceTo(fixture.now + (long) (random.nextDouble() * 4 * SECOND));
      }
      List<TokenWaiter> granted = new ArrayList<>(fixture.granted.keySet());
      for (; told < granted.size(); told++) {
        audit.granted(granted.get(told).demand.tokens(), fixture.grantTimes.get(told));
        open.put(granted.get(told), fixture.grantTimes.get(told));
      }
    }
    return audit.report(fixture.now).errorTokens();
  }

  @Test
  void limitChangedByAnotherNode_appliesWithoutAnAlarm() {
    auditor.recordLimits(300_000, 240_000, START);
    grant(700_000, SECOND);
    auditor.recordLimits(1_000_000, 240_000, START + 2 * SECOND);
    assertThat(report(2 * SECOND))
        .isEqualTo(new GovernorStatus.Audit(700_000, 1_240_000, 0, 700_000, 0));
    auditor.recordLimits(1_000_000, 240_000, START + 3 * SECOND);
    grant(1_000_001, 3 * MINUTE);
    auditor.recordLimits(1_000_000, 240_000, START + 4 * MINUTE);
    assertThat(report(4 * MINUTE).errorTokens()).isEqualTo(1);
    // It stays, whatever is said later.
    auditor.recordLimits(2_000_000, 240_000, START + 5 * MINUTE);
    assertThat(report(5 * MINUTE).errorTokens()).isEqualTo(1);
  }
}
