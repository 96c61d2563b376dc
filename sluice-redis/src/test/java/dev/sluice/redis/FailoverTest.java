package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisSentinels;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The master dies, and a replica with another clock takes its place. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FailoverTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final long CAPACITY = 50;
  private static final long RATE = 200;
  private static final int CALLERS = 2;

  /** Grants of the master that the replica had not received: those of a few milliseconds. */
  private static final long UNHEARD = 10;

  @ParameterizedTest
  @ValueSource(longs = {1, -1})
  void failover_toAClockThatIsOff_atMostOneBurstMoreAndNoLockOut(long hours) {
    Limit limit = new Limit.Balanced(CAPACITY, RATE, Duration.ofSeconds(1));
    WindowLog log = new WindowLog();
    try (RedisSentinels sentinels = RedisSentinels.start(Duration.ofHours(hours));
        FleetNode node = FleetNode.local(sentinels.uri(), "f:", limit)) {
      long since;
      Load load = new Load(List.of(node), CALLERS, log);
      try (load) {
        awaitGrants(load, 100);
        sentinels.killMaster();
        Await.until("the loss", PATIENCE, () -> !node.status().available());
        sentinels.awaitFailover();
        Await.until("the return", PATIENCE, () -> node.status().available());
        since = System.nanoTime();
        awaitGrants(load, 200);
      }
      long excess = log.maxExcess(CAPACITY, RATE);
      long millis = Duration.ofNanos(System.nanoTime() - since).toMillis();
      System.out.printf(
          "failover %+d h: by Redis %d, by share %d, excess %d; 200 grants after it in %d ms%n",
          hours,
          load.granted(FleetNode.Judge.REDIS),
          load.granted(FleetNode.Judge.SHARE),
          excess,
          millis);
      assertThat(excess).isLessThanOrEqualTo(CAPACITY + UNHEARD);
    }
  }

  private static void awaitGrants(Load load, int grants) {
    long before = load.granted(FleetNode.Judge.REDIS);
    Await.until("grants", PATIENCE, () -> load.granted(FleetNode.Judge.REDIS) >= before + grants);
  }
}
