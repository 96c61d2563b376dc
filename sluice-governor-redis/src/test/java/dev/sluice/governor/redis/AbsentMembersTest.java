package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.DeskRules;
import dev.sluice.governor.ModelBudget;
import dev.sluice.redis.link.Membership;
import dev.sluice.testkit.RedisServer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What the scripts hold back for members that are absent, and what they count apart from that. */
final class AbsentMembersTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_000_000 * SECOND;

  /** 1,000 tokens a second. */
  private static final ModelBudget BUDGET = ModelBudget.of(60_000, 1_000, Allocation.OFF);

  @AutoClose private final RedisServer redis = RedisServer.start();

  private final TimedScripts scripts = new TimedScripts(redis);
  private int asked;

  private void configure(ModelBudget budget) {
    scripts.run("rules", START, TimedScripts.configuration("m", budget, DeskRules.DEFAULTS));
  }

  private static String absent(double share, long from) {
    return "%d:%d".formatted(from, (long) (share * Membership.PARTS));
  }

  private boolean isGranted(String absences, long micros, String tenant, long tokens) {
    String text = Long.toString(tokens);
    List<String> words =
        List.of("id" + asked++, "now", tenant, OutageRig.P1, text, text, "0", "", "quick");
    return scripts.runWith(absences, "ask", micros, words).get(0).equals("g");
  }

  private boolean isGranted(String absences, long micros, long tokens) {
    return isGranted(absences, micros, "", tokens);
  }

  /** How many tokens there are. */
  private long available(String absences, long micros) {
    return (Long) scripts.runWith(absences, "look", micros, List.of("status")).get(0);
  }

  private long excess(long micros) {
    return (Long) scripts.run("look", micros, List.of("status")).get(12);
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
    configure(BUDGET.withTenants(Map.of("*", new ModelBudget.TenantBudget(6_000, 100, 1))));
    String half = absent(0.5, START);
    assertThat(isGranted(half, START + 10 * SECOND, "t", 60)).isFalse();
    assertThat(isGranted(half, START + 10 * SECOND, "t", 48)).isTrue();
  }

  @Test
  void requestsInATime_areHeldBackToo() {
    configure(BUDGET.withRequests(10, 0));
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
        "rules",
        START + 20 * SECOND,
        TimedScripts.configuration(
            "m", ModelBudget.of(60, 10, Allocation.OFF), DeskRules.DEFAULTS));
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

  private static List<String> seconds(String number, long first, long other, long tokens) {
    String text = Long.toString(tokens);
    return List.of(
        number, "0", "0", "0", "2", Long.toString(first), text, Long.toString(other), text);
  }
}
