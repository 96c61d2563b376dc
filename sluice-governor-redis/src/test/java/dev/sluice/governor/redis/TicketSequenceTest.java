package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Calls of a node about its waiters that reach Redis out of order. */
@Tag("any-jdk")
final class TicketSequenceTest {
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build();
  private static final String ONE = "1".repeat(16);
  private static final String OTHER = "2".repeat(16);
  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);
  private static final WaitingListConfig RULES =
      WaitingListConfig.builder()
          .maxWaiting(10)
          .ticketIdleTimeout(IDLE_TIMEOUT)
          .reservationTimeout(Duration.ofMinutes(10))
          .drainBatch(10)
          .refillInterval(Duration.ofSeconds(60))
          .build();

  /** By then an unclaimed grant has been returned. */
  private static final long LATER = IDLE_TIMEOUT.multipliedBy(3).toNanos() / 1_000;

  private final RedisServer redis = RedisServer.start();
  private final TimedScripts scripts = new TimedScripts(redis);

  @BeforeEach
  void queueOne() {
    scripts.run("configure", 1, TimedScripts.configuration("sonnet", BUDGET, RULES));
    scripts.run(ONE, "request", 2, ask("g"));
    scripts.run(ONE, "request", 3, ask("t"));
  }

  @AfterEach
  void close() {
    redis.close();
  }

  private static List<String> ask(String id) {
    return List.of(id, "queue", "", OutageRig.P1, "5", "5", "0", "", "");
  }

  /** Has a call of a node grant T. */
  private void grant(String node) {
    scripts.run(node, "settle", 10, List.of("settle", "g", "5"));
    assertThat(running(11)).isEqualTo(1);
  }

  private long running(long micros) {
    return (Long) scripts.run(OTHER, "poll", micros, List.of("status")).get(1);
  }

  @Test
  void claim_afterALaterLeave_isIgnored() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    scripts.run(ONE, "ticket", 5, List.of("leave", "t", "3", "undelivered"));
    grant(OTHER);
    assertThat(scripts.run(ONE, "ticket", 12, List.of("claim", "t", "2"))).isEqualTo(List.of("o"));
    assertThat(running(LATER)).isZero();
  }

  @Test
  void tick_afterALaterLeave_isIgnored() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    scripts.run(ONE, "ticket", 5, List.of("leave", "t", "3", "undelivered"));
    scripts.run(ONE, "ticket", 6, List.of("tick", "2", "t"));
    grant(ONE);
    assertThat(scripts.run(ONE, "ticket", 12, List.of("tick", "2", "t"))).isEmpty();
    assertThat(running(LATER)).isZero();
  }

  @Test
  void await_afterALaterLeave_isIgnored() {
    scripts.run(ONE, "ticket", 5, List.of("leave", "t", "2", ""));
    scripts.run(ONE, "ticket", 6, List.of("await", "t", "1"));
    grant(ONE);
    assertThat(running(LATER)).isZero();
  }

  @Test
  void leave_afterALaterAwait_isIgnored() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    scripts.run(ONE, "ticket", 5, List.of("await", "t", "3"));
    scripts.run(ONE, "ticket", 6, List.of("leave", "t", "2", "undelivered"));
    grant(ONE);
    // The answer delivers it to the waiter.
    scripts.run(ONE, "ticket", 12, List.of("leave", "t", "2", "undelivered"));
    assertThat(running(LATER)).isEqualTo(1);
  }

  @Test
  void leave_inSequence_returnsAnUndeliveredGrant() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    grant(ONE);
    scripts.run(ONE, "ticket", 12, List.of("leave", "t", "2", "undelivered"));
    assertThat(running(LATER)).isZero();
  }

  @Test
  void node_numbersItsCallsInOrder() {
    redis.command("CONFIG", "SET", "slowlog-max-len", "1000");
    redis.command("CONFIG", "SET", "slowlog-log-slower-than", "0");
    try (OutageRig rig = OutageRig.withLongTimeout(redis.uri(), 1, config(BUDGET))) {
      rig.granted(10);
      TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
      for (int i = 0; i < 3; i++) {
        var waiter = rig.store.await(queued.ticket());
        assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
        waiter.cancel(false);
      }
      Await.until("the last leaves", () -> sequences("leave").size() == 3);
      List<Long> left = sequences("leave");
      List<Long> awaited = sequences("await");
      assertThat(awaited).hasSize(3);
      for (int i = 0; i < 3; i++) {
        assertThat(left.get(i)).isGreaterThan(awaited.get(i));
        assertThat(i == 0 ? 0 : left.get(i - 1)).isLessThan(awaited.get(i));
      }
    }
  }

  /** Returns the sequence numbers of such calls, in ascending order. */
  private List<Long> sequences(String action) {
    return ((List<?>) Objects.requireNonNull(redis.command("SLOWLOG", "GET", "1000")))
        .stream()
            .map(each -> (List<?>) ((List<?>) each).get(3))
            .filter(arguments -> arguments.contains(action))
            .map(
                arguments ->
                    Long.parseLong(arguments.get(arguments.indexOf(action) + 2).toString()))
            .sorted()
            .toList();
  }

  /** A call of another node comes between a claim and an earlier leave, which is delayed. */
  @Test
  void leave_afterALaterClaimAndAnotherNode_isIgnored() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "1"));
    scripts.run(ONE, "ticket", 5, List.of("await", "t", "3"));
    scripts.run(OTHER, "ticket", 6, List.of("await", "t", "1"));
    grant(OTHER);
    assertThat(scripts.run(ONE, "ticket", 12, List.of("claim", "t", "4")).get(0)).isEqualTo("g");
    scripts.run(OTHER, "ticket", 13, List.of("leave", "t", "2", "undelivered"));
    scripts.run(ONE, "ticket", 14, List.of("leave", "t", "2", "undelivered"));
    assertThat(running(LATER)).isEqualTo(1);
  }

  @Test
  void sequenceNumbers_arePerNode() {
    scripts.run(ONE, "ticket", 4, List.of("await", "t", "7"));
    scripts.run(ONE, "ticket", 5, List.of("leave", "t", "8", "undelivered"));
    grant(ONE);
    assertThat(scripts.run(OTHER, "ticket", 12, List.of("claim", "t", "1")).get(0)).isEqualTo("g");
    assertThat(running(LATER)).isEqualTo(1);
  }
}
