package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The tokens and slots that scripts reserve for absent members, and the independent count of
 * grants.
 */
final class AbsentMembersTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_000_000 * SECOND;

  /** 1,000 tokens a second. */
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();

  @AutoClose private final RedisServer redis = RedisServer.start();

  private TimedScripts scripts = new TimedScripts(redis);
  private int asked;

  private void configure(ModelBudget budget) {
    scripts.run(
        "configure",
        START,
        TimedScripts.configuration("m", budget, WaitingListConfig.builder().build()));
  }

  private static String absent(double share, long from) {
    return "%d:%d".formatted(from, (long) (share * MembershipConfig.PARTS));
  }

  private boolean isGranted(String absences, long micros, String tenant, long tokens) {
    String text = Long.toString(tokens);
    List<String> arguments =
        List.of("id" + asked++, "now", tenant, OutageRig.P1, text, text, "0", "", "fast");
    return scripts.runWith(absences, "request", micros, arguments).get(0).equals("g");
  }

  private boolean isGranted(String absences, long micros, long tokens) {
    return isGranted(absences, micros, "", tokens);
  }

  /** Returns the available tokens. */
  private long available(String absences, long micros) {
    return (Long) scripts.runWith(absences, "poll", micros, List.of("status")).get(0);
  }

  /** Settles a grant, and returns the refunded tokens. */
  private long settle(String absences, long micros, int grant, long used) {
    List<String> arguments = List.of("settle", "id" + grant, Long.toString(used));
    return (Long) scripts.runWith(absences, "settle", micros, arguments).get(3);
  }

  private long excess(long micros) {
    return (Long) scripts.run("poll", micros, List.of("status")).get(12);
  }

  @Test
  void absentMembers_keepTheirPartOfTheRate() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String quarter = absent(0.25, START);
    assertThat(available(quarter, START + SECOND / 2)).isBetween(372L, 375L);
    assertThat(isGranted(quarter, START + SECOND / 2, 375)).isFalse();
    assertThat(isGranted(quarter, START + SECOND / 2, 372)).isTrue();
  }

  @Test
  void absentMembers_keepTheirPartOfTheBurst() {
    configure(BUDGET);
    String quarter = absent(0.25, START + SECOND);
    // Their shares start empty: after 100 ms they have saved little.
    assertThat(available(quarter, START + SECOND + SECOND / 10)).isBetween(973L, 975L);
    assertThat(available(quarter, START + 10 * SECOND)).isBetween(748L, 750L);
    assertThat(available(quarter + " " + (START + 10 * SECOND) + ":0", START + 10 * SECOND))
        .isBetween(748L, 750L);
  }

  @Test
  void returnedMembers_mayHaveGrantedTheirSavedTokens() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + SECOND) + " " + (START + 5 * SECOND) + ":0";
    // Nothing is left of the first second: members may have saved it up, and granted it at the end.
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
    assertThat(available(all, START + 5 * SECOND + SECOND / 2)).isBetween(498L, 500L);
  }

  @Test
  void unknownTenants_leaveTheShareReserved() {
    configure(
        BUDGET.toBuilder()
            .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(6_000, 100), 1)))
            .build());
    String half = absent(0.5, START);
    assertThat(isGranted(half, START + 10 * SECOND, "t", 60)).isFalse();
    assertThat(isGranted(half, START + 10 * SECOND, "t", 48)).isTrue();
  }

  @Test
  void requestLimits_leaveTheShareReserved() {
    configure(BUDGET.toBuilder().requests(Limit.perSecond(10)).build());
    String half = absent(0.5, START);
    int granted = 0;
    while (isGranted(half, START + 10 * SECOND, 1)) {
      granted++;
    }
    assertThat(granted).isBetween(4, 5);
  }

  @Test
  void clockThatWasSetBack_accruesNothingWhileAMemberIsAbsent() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String half = absent(0.5, START + SECOND);
    assertThat(available(half, START - 100 * SECOND)).isZero();
    assertThat(available(half, START - 99 * SECOND)).isZero();
    assertThat(available(half + " " + (START + 2 * SECOND) + ":0", START - 98 * SECOND))
        .isBetween(998L, 1_000L);
  }

  // ---- refunds

  /** Tokens that absent members saved are not refunded: members may have granted them since. */
  @Test
  void refundAfterAnAbsence_excludesTokensThatHadAccrued() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + 2 * SECOND) + " " + (START + 5 * SECOND) + ":0";
    assertThat(settle(all, START + 5 * SECOND, 0, 0)).isZero();
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
  }

  /** The same by the fast script, after another call has recorded the end of the absence. */
  @Test
  void refundLongAfterAnAbsence_excludesTokensThatHadAccrued() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + 2 * SECOND) + " " + (START + 5 * SECOND) + ":0";
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
    assertThat(settle(all, START + 5 * SECOND + SECOND / 10, 0, 0)).isZero();
    assertThat(available(all, START + 5 * SECOND + SECOND / 10)).isBetween(98L, 100L);
  }

  @Test
  void refundDuringAnAbsence_leavesSavedTokensReserved() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String quarter = absent(0.25, START + 4 * SECOND / 10);
    // The debt was 600 when the absence began, and is 450; 50 tokens may have been saved.
    assertThat(settle(quarter, START + 6 * SECOND / 10, 0, 0)).isBetween(396L, 400L);
    assertThat(available(quarter, START + 6 * SECOND / 10)).isBetween(944L, 950L);
  }

  @Test
  void refundDuringAnAbsence_grantsNoReservedTokens() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String half = absent(0.5, START + 2 * SECOND);
    List<String> arguments =
        List.of("waits", "queue", "", OutageRig.P1, "600", "600", "0", "", "fast");
    assertThat(scripts.runWith(half, "request", START + 5 * SECOND, arguments).get(0))
        .isEqualTo("q");
    assertThat(settle(half, START + 5 * SECOND, 0, 0)).isZero();
    List<?> after =
        scripts.runWith(half, "ticket", START + 5 * SECOND, List.of("poll", "waits", ""));
    assertThat(after.get(0)).isEqualTo("q");
  }

  @Test
  void refundOfAGrantDuringAnAbsence_isComplete() {
    configure(BUDGET);
    String quarter = absent(0.25, START + SECOND);
    assertThat(isGranted(quarter, START + 5 * SECOND, 700)).isTrue();
    assertThat(settle(quarter, START + 5 * SECOND, 0, 100)).isEqualTo(600);
    assertThat(available(quarter, START + 5 * SECOND)).isBetween(647L, 650L);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void refundAfterAnAbsence_toATenant_excludesTokensThatHadAccrued(boolean forgotten) {
    configure(
        BUDGET.toBuilder()
            .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(6_000, 100), 1)))
            .build());
    assertThat(isGranted("", START, "t", 50)).isTrue();
    assertThat(isGranted("", START, "t", 50)).isTrue();
    if (forgotten) {
      // The bucket is full, and its field expires.
      available("", START + 3 * SECOND / 2);
    }
    String all = absent(1, START + 2 * SECOND) + " " + (START + 5 * SECOND) + ":0";
    settle(all, START + 5 * SECOND, 0, 0);
    long later = START + 5 * SECOND + 3 * SECOND / 10;
    assertThat(isGranted(all, later, "t", 31)).isFalse();
    assertThat(isGranted(all, later, "t", 28)).isTrue();
  }

  // ---- slots

  private int slots(String absences, long micros) {
    int granted = 0;
    while (isGranted(absences, micros, 1)) {
      granted++;
    }
    return granted;
  }

  @Test
  void absentMembers_keepTheirSlots() {
    configure(BUDGET.toBuilder().maxConcurrentRequests(30).build());
    assertThat(slots(absent(2.0 / 3, START + SECOND), START + 2 * SECOND)).isEqualTo(10);
    // One of them has reported and returned.
    String later = absent(2.0 / 3, START + SECOND) + " " + absent(1.0 / 3, START + 3 * SECOND);
    assertThat(slots(later, START + 3 * SECOND)).isEqualTo(10);
    assertThat(slots(later + " " + (START + 4 * SECOND) + ":0", START + 4 * SECOND)).isEqualTo(10);
  }

  @Test
  void absentMembers_keepTheirSlots_roundedUp() {
    configure(BUDGET.toBuilder().maxConcurrentRequests(10).build());
    assertThat(slots(absent(0.9, START + SECOND), START + 2 * SECOND)).isEqualTo(1);
    assertThat(slots(absent(0.45, START + SECOND), START + 3 * SECOND)).isEqualTo(4);
    assertThat(slots(absent(1, START + SECOND), START + 4 * SECOND)).isZero();
  }

  @Test
  void waiterForASlotOfAbsentMembers_isServedSoonAfterTheirReturn() {
    configure(BUDGET.toBuilder().maxConcurrentRequests(2).build());
    String half = absent(0.5, START + SECOND);
    assertThat(isGranted(half, START + 2 * SECOND, 1)).isTrue();
    List<String> arguments = List.of("waits", "queue", "", OutageRig.P1, "1", "1", "0", "", "fast");
    List<?> queued = scripts.runWith(half, "request", START + 2 * SECOND, arguments);
    assertThat(queued.get(0)).isEqualTo("q");
    assertThat(queued.get(8)).isEqualTo("CONCURRENCY");
    String returned = half + " " + (START + 3 * SECOND) + ":0";
    available(returned, START + 3 * SECOND + SECOND / 4);
    List<?> after =
        scripts.runWith(
            returned, "ticket", START + 3 * SECOND + SECOND / 4, List.of("poll", "waits", ""));
    assertThat(after.get(0)).isEqualTo("g");
  }

  // ---- the count of grants

  @Test
  void count_ofGrantsWithinTheLimit_findsNoExcess() {
    configure(BUDGET);
    for (long at = START; at < START + 20 * SECOND; at += SECOND / 10) {
      while (isGranted("", at, 37)) {
        scripts.run("settle", at, List.of("settle", "id" + (asked - 1), "20"));
      }
    }
    assertThat(excess(START + 20 * SECOND)).isZero();
    // A smaller limit makes no excess of earlier grants.
    scripts.run(
        "configure",
        START + 20 * SECOND,
        TimedScripts.configuration(
            "m", SeedBudget.budget(60, 10).build(), WaitingListConfig.builder().build()));
    assertThat(excess(START + 21 * SECOND)).isZero();
  }

  @Test
  void count_ofGrantsBeyondTheBucket_findsTheExcess_andRemembersIt() {
    configure(BUDGET);
    for (int second = 0; second < 5; second++) {
      assertThat(isGranted("", START + second * SECOND, 1_000)).isTrue();
      // As if no tokens had been taken.
      forgetDebt();
      assertThat(isGranted("", START + second * SECOND, 1_000)).isTrue();
    }
    // 10,000 in five seconds, of which 6,000 are allowed.
    assertThat(excess(START + 5 * SECOND)).isEqualTo(4_000);
    assertThat(excess(START + 1_000 * SECOND)).isEqualTo(4_000);
  }

  private void forgetDebt() {
    redis.command(
        "EVAL",
        "local s = redis.call('HGET', KEYS[1], 's') redis.call('HSET', KEYS[1], 's', "
            + "string.sub(s, 1, 16) .. struct.pack('>d', 0) .. string.sub(s, 25))",
        "1",
        new ModelKeys("", "timed").all()[0]);
  }

  /** Without the entry in the history, refunds would return tokens that a member has granted. */
  @ParameterizedTest
  @CsvSource({"'', 0", "'record(bucket, math.max(0, most))', 790"})
  void count_findsTheExcessOfLargerRefunds(String without, long excess) {
    scripts = new TimedScripts(redis, without);
    configure(SeedBudget.budget(6_000, 1_000).build());
    assertThat(isGranted("", START, 1_000)).isTrue();
    // The member grants all saved tokens at the end; Redis settles a grant that had been repaid.
    long end = START + 25 * SECOND;
    String returned = absent(1, START + 12 * SECOND) + " " + end + ":0";
    long last = end / SECOND - 1;
    scripts.runWith(
        returned,
        "report",
        end,
        List.of("1", "0", "0", "0", "0", "1", Long.toString(last), "1000"));
    settle(returned, end, 0, 0);
    assertThat(isGranted(returned, end, 990)).isEqualTo(excess > 0);
    assertThat(excess(end)).isEqualTo(excess);
  }

  @Test
  void count_subtractsRefundsFromTheSecondOfTheGrant() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    assertThat(isGranted("", START + SECOND / 2, 500)).isTrue();
    assertThat(settle("", START + SECOND / 2, 1, 100)).isEqualTo(400);
    forgetDebt();
    // 1,100 and 1,400 in two seconds, of which 3,000 are allowed; then 1,200 more.
    assertThat(isGranted("", START + SECOND, 700)).isTrue();
    forgetDebt();
    assertThat(isGranted("", START + SECOND, 700)).isTrue();
    assertThat(excess(START + SECOND)).isZero();
    forgetDebt();
    assertThat(isGranted("", START + SECOND, 1_000)).isTrue();
    assertThat(excess(START + SECOND)).isEqualTo(500);
  }

  @Test
  void count_ofAReport_isOfTheSecondsInWhichItWasGranted() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    long second = START / SECOND;
    scripts.run("report", START + 3 * SECOND, seconds("1", second + 1, second + 2, 2_500));
    // 6,000 in three seconds, of which 4,000 are allowed.
    assertThat(excess(START + 3 * SECOND)).isEqualTo(2_000);
    // Reported twice, counted once.
    scripts.run("report", START + 3 * SECOND, seconds("1", second + 1, second + 2, 2_500));
    assertThat(excess(START + 3 * SECOND)).isEqualTo(2_000);
  }

  @Test
  void count_ofAReport_findsAnExcessEarlyInALongOutage() {
    configure(BUDGET);
    long second = START / SECOND;
    long end = START + 1_000 * SECOND;
    scripts.run("report", end, seconds("1", second + 10, second + 11, 2_500));
    // It is remembered without a check while it is counted.
    assertThat(excess(end + 2_000 * SECOND)).isEqualTo(2_000);
  }

  private static List<String> seconds(String number, long first, long other, long tokens) {
    String text = Long.toString(tokens);
    return List.of(
        number, "0", "0", "0", "0", "2", Long.toString(first), text, Long.toString(other), text);
  }
}
