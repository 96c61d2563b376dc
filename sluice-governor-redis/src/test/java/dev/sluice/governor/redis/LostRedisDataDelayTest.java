package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.Hiccups;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The latency of calls while nodes restore their grants in a Redis that has lost its data. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LostRedisDataDelayTest {
  private static final ModelBudget FAST = SeedBudget.budget(60_000, 1_000).build();

  private final RedisServer redis = RedisServer.start();

  @AfterEach
  void close() {
    redis.close();
  }

  @Test
  void callThatFindsNoState_takesNoLongerThanItsTimeout() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        Hiccups hiccups = new Hiccups();
        OutageRig rig = OutageRig.local(proxy.uri(), 1, config(FAST))) {
      TokenDecision.Granted granted = rig.granted(10);
      // Finding the loss, sending the configuration and the grants, and calling again: four times.
      proxy.delay(Duration.ofMillis(150), Duration.ofMillis(150));
      List<Long> millis = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        redis.command("FLUSHALL");
        millis.add(timed(hiccups, () -> rig.store.request(request(1))));
        redis.command("FLUSHALL");
        millis.add(timed(hiccups, () -> rig.store.settle(granted.reservation(), 1)));
      }
      System.out.println("calls that found no state took ms " + millis);
      assertThat(millis).allMatch(each -> each < OutageRig.TIMEOUT.toMillis() + 50);
    }
  }

  /** Returns milliseconds, less those in which this process did not run. */
  private static long timed(Hiccups hiccups, Supplier<CompletableFuture<?>> call) {
    long from = System.nanoTime();
    call.get().handle((done, failure) -> true).join();
    long to = System.nanoTime();
    return Duration.ofNanos(to - from - hiccups.nanosIn(from, to)).toMillis();
  }
}
