package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.PendingDelivery;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * A lease that runs out is a failure, also when the broker is killed before it could store that.
 */
final class LeaseExpiryCrashTest extends EngineFixture {
  @Test
  void killedRightAfterItsStart_countsLeasesThatRanOutWhileItWasDown() {
    lease(1);
    now += 60 * SECOND;
    kill();
    kill();
    assertThat(attemptsOfOldest(1)).containsOnly(1);
  }

  @Test
  void killedDuringTheFailureHook_countsTheExpiredLease() {
    hasHook = true;
    lease(1);
    now += 60 * SECOND;
    step();
    enqueue(1);
    step();
    kill();
    hasHook = false;
    assertThat(attemptsOfOldest(1)).containsOnly(1);
  }

  @Test
  void killedAmongManyLeasesThatRunOutAtOnce_countsEachOfThem() {
    lease(2_000);
    now += 60 * SECOND;
    engine.advanceTo(now);
    engine.tick();
    commit();
    kill();
    assertThat(attemptsOfOldest(2_000)).containsOnly(1);
  }

  private void lease(int messages) {
    QueueConfig config =
        QueueConfig.builder()
            .leaseTimeout(Duration.ofSeconds(30))
            .retryDelay(Duration.ZERO)
            .build();
    engine.queueAdmin.create("q", config, true, new CompletableFuture<>());
    step();
    enqueue(messages);
    step();
    consume(messages);
    assertThat(delivered).hasSize(messages);
    delivered.clear();
  }

  private List<Integer> attemptsOfOldest(int messages) {
    consume(messages + 1);
    return delivered.stream()
        .sorted(Comparator.comparingLong(handover -> handover.entry().sequence))
        .limit(messages)
        .map(PendingDelivery::attempts)
        .distinct()
        .toList();
  }
}
