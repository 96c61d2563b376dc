package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.store.ModelKeys;
import dev.sluice.redis.connection.MembershipConfig;
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
    List<String> words =
        List.of("id" + asked++, "now", tenant, OutageRig.P1, text, text, "0", "", "fast");
    return scripts.runWith(absences, "request", micros, words).get(0).equals("g");
  }

  private boolean isGranted(String absences, long micros, long tokens) {
    return isGranted(absences, micros, "", tokens);
  }

  /** How many tokens there are. */
  private long available(String absences, long micros) {
    return (Long) scripts.runWith(absences, "poll", micros, List.of("status")).get(0);
  }

  /** Settles a grant, and returns how many tokens came back. */
  private long settle(String absences, long micros, int grant, long used) {
    List<String> words = List.of("settle", "id" + grant, Long.toString(used));
    return (Long) scripts.runWith(absences, "settle", micros, words).get(3);
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
    // They begin empty: what they have saved after 100 ms is little.
    assertThat(available(quarter, START + SECOND + SECOND / 10)).isBetween(973L, 975L);
    assertThat(available(quarter, START + 10 * SECOND)).isBetween(748L, 750L);
    assertThat(available(quarter + " " + (START + 10 * SECOND) + ":0", START + 10 * SECOND))
        .isBetween(748L, 750L);
  }

  @Test
  void membersThatReturned_haveGrantedWhatTheyHadSaved() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + SECOND) + " " + (START + 5 * SECOND) + ":0";
    // Of the first second nothing is left: it may have been saved up, and granted at the end.
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
    assertThat(available(all, START + 5 * SECOND + SECOND / 2)).isBetween(498L, 500L);
  }

  @Test
  void tenantsOfWhomNothingIsKnown_areHeldBackToo() {
    configure(
        BUDGET.toBuilder()
            .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(6_000, 100), 1)))
            .build());
    String half = absent(0.5, START);
    assertThat(isGranted(half, START + 10 * SECOND, "t", 60)).isFalse();
    assertThat(isGranted(half, START + 10 * SECOND, "t", 48)).isTrue();
  }

  @Test
  void requestsInATime_areHeldBackToo() {
    configure(BUDGET.toBuilder().requests(Limit.perSecond(10)).build());
    String half = absent(0.5, START);
    int granted = 0;
    while (isGranted(half, START + 10 * SECOND, 1)) {
      granted++;
    }
    assertThat(granted).isBetween(4, 5);
  }

  @Test
  void clockThatWasSetBack_bringsNothingWhileAMemberIsAbsent() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String half = absent(0.5, START + SECOND);
    assertThat(available(half, START - 100 * SECOND)).isZero();
    assertThat(available(half, START - 99 * SECOND)).isZero();
    assertThat(available(half + " " + (START + 2 * SECOND) + ":0", START - 98 * SECOND))
        .isBetween(998L, 1_000L);
  }

  // ---- refunds

  /**
   * Tokens that absent members saved are no debt of the charge: they may have granted them since.
   */
  @Test
  void refundAfterAnAbsence_givesBackNothingThatWasRepaidBefore() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + 2 * SECOND) + " " + (START + 5 * SECOND) + ":0";
    assertThat(settle(all, START + 5 * SECOND, 0, 0)).isZero();
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
  }

  /** The same by the quick way, after another call has seen the end of the absence. */
  @Test
  void refundLongAfterAnAbsence_givesBackNothingThatWasRepaidBefore() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String all = absent(1, START + 2 * SECOND) + " " + (START + 5 * SECOND) + ":0";
    assertThat(available(all, START + 5 * SECOND)).isLessThanOrEqualTo(0);
    assertThat(settle(all, START + 5 * SECOND + SECOND / 10, 0, 0)).isZero();
    assertThat(available(all, START + 5 * SECOND + SECOND / 10)).isBetween(98L, 100L);
  }

  @Test
  void refundUnderAnAbsence_leavesWhatTheMembersMayHaveSaved() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String quarter = absent(0.25, START + 4 * SECOND / 10);
    // 600 were owed when it began, 450 are; 50 may have been saved.
    assertThat(settle(quarter, START + 6 * SECOND / 10, 0, 0)).isBetween(396L, 400L);
    assertThat(available(quarter, START + 6 * SECOND / 10)).isBetween(944L, 950L);
  }

  @Test
  void refundUnderAnAbsence_servesNobodyFromTheReserve() {
    configure(BUDGET);
    assertThat(isGranted("", START, 1_000)).isTrue();
    String half = absent(0.5, START + 2 * SECOND);
    List<String> words = List.of("waits", "queue", "", OutageRig.P1, "600", "600", "0", "", "fast");
    assertThat(scripts.runWith(half, "request", START + 5 * SECOND, words).get(0)).isEqualTo("q");
    assertThat(settle(half, START + 5 * SECOND, 0, 0)).isZero();
    List<?> after =
        scripts.runWith(half, "ticket", START + 5 * SECOND, List.of("poll", "waits", ""));
    assertThat(after.get(0)).isEqualTo("q");
  }

  @Test
  void refundOfAGrantUnderAnAbsence_givesItBack() {
    configure(BUDGET);
    String quarter = absent(0.25, START + SECOND);
    assertThat(isGranted(quarter, START + 5 * SECOND, 700)).isTrue();
    assertThat(settle(quarter, START + 5 * SECOND, 0, 100)).isEqualTo(600);
    assertThat(available(quarter, START + 5 * SECOND)).isBetween(647L, 650L);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void refundAfterAnAbsence_toATenant_givesBackNothingThatWasRepaidBefore(boolean forgotten) {
    configure(
        BUDGET.toBuilder()
            .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(6_000, 100), 1)))
            .build());
    assertThat(isGranted("", START, "t", 50)).isTrue();
    assertThat(isGranted("", START, "t", 50)).isTrue();
    if (forgotten) {
      // The meter is full, and its key goes.
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
    // One of them has reported and is back.
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
    List<String> words = List.of("waits", "queue", "", OutageRig.P1, "1", "1", "0", "", "fast");
    List<?> queued = scripts.runWith(half, "request", START + 2 * SECOND, words);
    assertThat(queued.get(0)).isEqualTo("q");
    assertThat(queued.get(8)).isEqualTo("CONCURRENCY");
    String returned = half + " " + (START + 3 * SECOND) + ":0";
    available(returned, START + 3 * SECOND + SECOND / 4);
    List<?> after =
        scripts.runWith(
            returned, "ticket", START + 3 * SECOND + SECOND / 4, List.of("poll", "waits", ""));
    assertThat(after.get(0)).isEqualTo("g");
  }

  // ---- the count

  @Test
  void count_ofGrantsWithinTheLimit_findsNoExcess() {
    configure(BUDGET);
    for (long at = START; at < START + 20 * SECOND; at += SECOND / 10) {
      while (isGranted("", at, 37)) {
        scripts.run("settle", at, List.of("settle", "id" + (asked - 1), "20"));
      }
    }
    assertThat(excess(START + 20 * SECOND)).isZero();
    // A smaller limit makes no excess of what was granted before.
    scripts.run(
        "configure",
        START + 20 * SECOND,
        TimedScripts.configuration(
            "m", SeedBudget.budget(60, 10).build(), WaitingListConfig.builder().build()));
    assertThat(excess(START + 21 * SECOND)).isZero();
  }

  @Test
  void count_ofGrantsPastTheMeter_findsTheExcess_andRemembersIt() {
    configure(BUDGET);
    for (int second = 0; second < 5; second++) {
      assertThat(isGranted("", START + second * SECOND, 1_000)).isTrue();
      // As if nobody had taken anything.
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

  /** The entry in the history is what keeps refunds from giving away what a member granted. */
  @ParameterizedTest
  @CsvSource({"'', 0", "'record(meter, math.max(0, most))', 790"})
  void count_findsWhatRefundsWouldGiveAway(String without, long excess) {
    scripts = new TimedScripts(redis, without);
    configure(SeedBudget.budget(6_000, 1_000).build());
    assertThat(isGranted("", START, 1_000)).isTrue();
    // All that was saved is granted at the end, and settled here is a grant that was repaid before.
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
  void count_takesRefundsOffTheSecondOfTheGrant() {
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
    // Told twice, counted once.
    scripts.run("report", START + 3 * SECOND, seconds("1", second + 1, second + 2, 2_500));
    assertThat(excess(START + 3 * SECOND)).isEqualTo(2_000);
  }

  @Test
  void count_ofAReport_findsAnExcessEarlyInALongOutage() {
    configure(BUDGET);
    long second = START / SECOND;
    long end = START + 1_000 * SECOND;
    scripts.run("report", end, seconds("1", second + 10, second + 11, 2_500));
    // It is remembered though nobody looks while it is counted.
    assertThat(excess(end + 2_000 * SECOND)).isEqualTo(2_000);
  }

  private static List<String> seconds(String number, long first, long other, long tokens) {
    String text = Long.toString(tokens);
    return List.of(
        number, "0", "0", "0", "0", "2", Long.toString(first), text, Long.toString(other), text);
  }
}
