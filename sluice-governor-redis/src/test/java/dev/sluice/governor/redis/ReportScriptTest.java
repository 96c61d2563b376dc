package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Effects of a report on the stored state, at times that the test chooses. */
@Tag("any-jdk")
final class ReportScriptTest {
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build();
  private static final String ONE = "1".repeat(16);
  private static final String OTHER = "2".repeat(16);
  private static final WaitingListConfig RULES =
      WaitingListConfig.builder()
          .maxWaiting(2)
          .ticketIdleTimeout(Duration.ofSeconds(30))
          .reservationTimeout(Duration.ofMinutes(10))
          .drainBatch(10)
          .refillInterval(Duration.ofSeconds(60))
          .build();

  private final RedisServer redis = RedisServer.start();
  private final TimedScripts scripts = new TimedScripts(redis);

  @BeforeEach
  void configure() {
    scripts.run("configure", 1, TimedScripts.configuration("sonnet", BUDGET, RULES));
  }

  @AfterEach
  void close() {
    redis.close();
  }

  private static List<String> ask(String id) {
    return List.of(id, "queue", "", OutageRig.P1, "5", "5", "0", "", "");
  }

  /** Returns a report of decided tickets. */
  private static List<String> decided(String number, String... ids) {
    List<String> arguments = new ArrayList<>(List.of(number, Integer.toString(ids.length)));
    arguments.addAll(List.of(ids));
    arguments.addAll(List.of("0", "0", "0", "0"));
    return arguments;
  }

  /** Has Redis grant T to ONE, which awaits it and does not receive the answer. */
  private void grantUndelivered() {
    scripts.run(ONE, "request", 2, ask("g"));
    scripts.run(ONE, "request", 3, ask("t"));
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    scripts.run(ONE, "settle", 5, List.of("settle", "g", "5"));
    assertThat(running(6)).isEqualTo(1);
  }

  private long running(long micros) {
    return (Long) scripts.run(ONE, "poll", micros, List.of("status")).get(1);
  }

  @Test
  void grantWhoseAnswerWasLost_isTakenBack_ifTheNodeHasDecidedTheTicket() {
    grantUndelivered();
    assertThat(scripts.run(ONE, "report", 7, decided("1", "t"))).isEqualTo(List.of(1L));
    assertThat(running(8)).isZero();
  }

  @Test
  void grantThatWasPolled_andTheAnswerLost_isTakenBack() {
    grantUndelivered();
    scripts.run(ONE, "ticket", 6, List.of("poll", "t"));
    scripts.run(ONE, "report", 7, decided("1", "t"));
    assertThat(running(8)).isZero();
  }

  @Test
  void grantDeliveredAtAnotherNode_stays() {
    grantUndelivered();
    scripts.run(OTHER, "ticket", 6, List.of("poll", "t"));
    scripts.run(ONE, "report", 7, decided("1", "t"));
    assertThat(running(8)).isEqualTo(1);
    assertThat(scripts.run(OTHER, "settle", 9, List.of("settle", "t", "5"))).isNotEmpty();
  }

  @Test
  void grantDeliveredAtAnotherNode_staysClaimed_ifTheNodeDidNotDeliverIt() {
    grantUndelivered();
    scripts.run(OTHER, "ticket", 6, List.of("poll", "t"));
    scripts.run(ONE, "report", 7, unclaimed("1", List.of("t", "5", "5", OutageRig.P1, "", "")));
    // By then an unclaimed grant has been returned.
    long later = RULES.ticketIdleTimeout().multipliedBy(3).toNanos() / 1_000;
    assertThat(running(later)).isEqualTo(1);
    assertThat(scripts.run(OTHER, "settle", later + 1, List.of("settle", "t", "5"))).isNotEmpty();
    assertThat(running(later + 2)).isZero();
  }

  @Test
  void unclaimedGrant_isTakenBack_ifTheNodeDecidesItsKeyAgain() {
    scripts.run(ONE, "report", 2, unclaimed("1", List.of("x", "5", "5", OutageRig.P1, "", "k")));
    assertThat(running(3)).isEqualTo(1);
    scripts.run(ONE, "report", 4, open("2", List.of("y", "5", "5", OutageRig.P1, "", "k")));
    assertThat(running(5)).isEqualTo(1);
    assertThat(scripts.run(ONE, "ticket", 6, List.of("poll", "x")).get(0)).isEqualTo("n");
  }

  @Test
  void settledReservation_isNotRestored_byADelayedCall() {
    List<String> grant = List.of("t", "5", "5", OutageRig.P1, "", "k");
    scripts.run(ONE, "restore_grants", 2, grant);
    assertThat(scripts.run(ONE, "settle", 3, List.of("settle", "t", "5"))).isNotEmpty();
    scripts.run(ONE, "restore_grants", 4, grant);
    scripts.run(ONE, "report", 5, open("1", grant));
    assertThat(running(6)).isZero();
  }

  @Test
  void cancelledReservation_isNotRestored_byADelayedCall() {
    List<String> grant = List.of("t", "5", "5", OutageRig.P1, "", "k");
    scripts.run(ONE, "restore_grants", 2, grant);
    assertThat(scripts.run(ONE, "ticket", 3, List.of("cancel", "t"))).isEqualTo(List.of(1L));
    scripts.run(ONE, "report", 5, open("1", grant));
    assertThat(running(6)).isZero();
  }

  /** Returns a report of an open reservation. */
  private static List<String> open(String number, List<String> grant) {
    return open(number, grant, "");
  }

  /** Returns a report of an open reservation that is unclaimed. */
  private static List<String> unclaimed(String number, List<String> grant) {
    return open(number, grant, "unclaimed");
  }

  private static List<String> open(String number, List<String> grant, String unclaimed) {
    List<String> arguments = new ArrayList<>(List.of(number, "0", "0", "1"));
    arguments.addAll(grant);
    arguments.addAll(List.of("ticket", unclaimed, "0", "0"));
    return arguments;
  }

  @Test
  void ticketsOfReports_areBounded_andBeyondThatRefused() {
    scripts.run(ONE, "request", 2, ask("g"));
    scripts.run(ONE, "report", 3, waiting("1", "a", "b", "c"));
    scripts.run(OTHER, "report", 4, waiting("1", "d", "e", "f"));
    assertThat(scripts.run(ONE, "ticket", 5, List.of("poll", "d")).get(0)).isEqualTo("q");
    for (String id : List.of("e", "f")) {
      List<?> said = scripts.run(OTHER, "ticket", 6, List.of("poll", id));
      assertThat(said.get(0)).isEqualTo("r");
      assertThat(said.get(5)).isEqualTo("LINE_FULL");
    }
  }

  /** Returns a report of waiting tickets. */
  private static List<String> waiting(String number, String... ids) {
    List<String> arguments = new ArrayList<>(List.of(number, "0", "0", "0"));
    arguments.add(Integer.toString(ids.length));
    for (String id : ids) {
      arguments.addAll(List.of(id, "5", "5", OutageRig.P1, "", "", "0", "1", ""));
    }
    arguments.add("0");
    return arguments;
  }
}
