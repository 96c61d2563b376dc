package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Tickets that no caller polls any more do not block the waiting list. */
final class AbandonedTicketScriptTest {
  @AutoClose private static final RedisServer redis = RedisServer.start();

  private final TimedScripts scripts = new TimedScripts(redis);

  @Test
  void deadTickets_areAbandoned_soonAfterRedisIsBack() {
    long idleTimeout = WaitingListConfig.builder().build().ticketIdleTimeout().toNanos() / 1_000;
    long life = WaitingListConfig.builder().build().reservationTimeout().toNanos() / 1_000;
    long now = 1_000_000_000_000L;
    scripts.run(
        "configure",
        now,
        TimedScripts.configuration(
            "sonnet",
            SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(),
            WaitingListConfig.builder().build()));
    assertThat(ask(now, "running")).isEqualTo("g");
    assertThat(ask(now, "dead")).isEqualTo("q");
    now += 10 * (idleTimeout + life);
    // After a possible outage tickets have a short grace period for late polls.
    assertThat(ask(now, "new")).isEqualTo("q");
    for (int second = 0; second < 3; second++) {
      // As a node with a waiting ticket does.
      scripts.run("ticket", now, List.of("tick"));
      now += 1_000_000;
    }
    assertThat(scripts.run("ticket", now, List.of("poll", "new")).get(0)).isEqualTo("g");
    assertThat(scripts.run("ticket", now, List.of("poll", "dead")).get(5)).isEqualTo("ABANDONED");
  }

  private Object ask(long micros, String id) {
    return scripts
        .run("request", micros, List.of(id, "queue", "", OutageRig.P1, "10", "10", "0", "", ""))
        .get(0);
  }
}
