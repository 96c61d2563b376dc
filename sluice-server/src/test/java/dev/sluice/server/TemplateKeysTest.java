package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limits;
import dev.sluice.ManualClock;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.operations.LimitBackend;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.LimitOperations.Rate;
import dev.sluice.server.operations.LocalLimitBackend;
import dev.sluice.server.operations.SharedLimitBackend;
import dev.sluice.server.operations.TemplateKeyQuota;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Keys that templates make are bounded for each account and in total, in Redis and in memory. */
@Timeout(60)
final class TemplateKeysTest {
  private static final int MOST = 8;
  private static final String OF_ONE =
      "names of templates in use of one account must be at most 2 at once, but were 2";
  private static final Rate SLOW = new Rate(0.001, 2);

  @TempDir private Path dir;
  private final ManualClock clock = ManualClock.create();
  private final TemplateKeyQuota keys = new TemplateKeyQuota(MOST, clock);
  private final Caller one = account("one");
  private final Caller other = account("other");

  private static Caller account(String name) {
    return new Caller(name, false, List.of(new Permission(Kind.LIMIT, "*")), ApiKey.NEVER);
  }

  private static void assertExhausted(Runnable call, String rule) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            ApiException.class,
            refused -> assertThat(refused.kind()).isEqualTo(ErrorKind.RESOURCE_EXHAUSTED))
        .hasMessageContaining(rule);
  }

  private void use(Caller caller, String key, long cost, Rate rate) {
    keys.use(caller, Map.of(key, rate), Map.of(key, cost));
  }

  private void makeRoom() {
    keys.makeRoom(key -> true);
  }

  // ---- counting

  @Test
  void keys_areBoundedForEachAccount_andInTotal() {
    use(one, "t:1", 1, SLOW);
    use(one, "t:2", 1, SLOW);
    assertExhausted(() -> use(one, "t:3", 1, SLOW), OF_ONE);
    use(one, "t:2", 1, SLOW);
    use(other, "t:3", 1, SLOW);
    use(one, "t:3", 1, SLOW);
    for (int i = 4; i <= MOST; i++) {
      use(Caller.ANYBODY, "t:" + i, 1, SLOW);
    }
    assertExhausted(
        () -> use(Caller.ANYBODY, "t:9", 1, SLOW),
        "names of templates in use must be at most 8 at once, but were 8");
    assertThat(keys.count()).isEqualTo(MOST);
  }

  @Test
  void callWithTooManyKeys_countsNone() {
    use(one, "t:1", 1, SLOW);
    Map<String, Long> costs = new TreeMap<>(Map.of("t:2", 1L, "t:3", 1L));
    Map<String, Rate> rates = new TreeMap<>(Map.of("t:2", SLOW, "t:3", SLOW));
    assertExhausted(() -> keys.use(one, rates, costs), OF_ONE);
    assertThat(keys.count()).isEqualTo(1);
    use(one, "t:4", 1, SLOW);
  }

  @Test
  void key_countsUntilItIsFull_andThenForItsNextAccount() {
    Rate perSecond = new Rate(1, 10);
    use(one, "t:1", 2, perSecond);
    clock.advance(Duration.ofSeconds(1));
    use(one, "t:1", 1, perSecond);
    clock.advance(Duration.ofMillis(1_999));
    makeRoom();
    assertThat(keys.count()).isEqualTo(1);
    clock.advance(Duration.ofMillis(1));
    use(other, "t:1", 1, perSecond);
    use(one, "t:2", 1, perSecond);
    use(one, "t:3", 1, perSecond);
    clock.advance(Duration.ofSeconds(1));
    makeRoom();
    assertThat(keys.count()).isZero();
  }

  @Test
  void key_countsNoLongerThanAnEmptyBucketTakesToFill() {
    for (int i = 0; i < 100; i++) {
      use(one, "t:1", Long.MAX_VALUE, new Rate(1, 10));
    }
    clock.advance(Duration.ofSeconds(10));
    makeRoom();
    assertThat(keys.count()).isZero();
  }

  @Test
  void negativeCost_doesNotEndTheCount() {
    use(one, "t:1", 5, new Rate(1, 10));
    use(one, "t:1", -5, new Rate(1, 10));
    makeRoom();
    assertThat(keys.count()).isEqualTo(1);
  }

  @Test
  void keyOfRateZero_isNeverFull() {
    use(one, "t:1", 1, new Rate(0, 10));
    clock.advance(Duration.ofDays(365));
    makeRoom();
    assertThat(keys.count()).isEqualTo(1);
    keys.makeRoom(key -> false);
    assertThat(keys.count()).isZero();
  }

  // ---- both stores

  private void fill(LimitOperations limits) {
    limits.set(Caller.ANYBODY, "t:*", SLOW).join();
    limits.set(Caller.ANYBODY, "t:own", SLOW).join();
    decide(limits, one, "t:own");
    decide(limits, one, "t:1");
    assertThat(limits.decide(one, Map.of("t:x", 1L, "t:y", 1L, "t:z", 1L), true).join().isGranted())
        .as("a dry run stores nothing")
        .isTrue();
    assertExhausted(() -> limits.decide(one, Map.of("t:2", 1L, "t:3", 1L), false).join(), OF_ONE);
    decide(limits, one, "t:2");
    assertExhausted(() -> decide(limits, one, "t:3"), OF_ONE);
    decide(limits, one, "t:1");
    decide(limits, other, "t:3");
  }

  private static void decide(LimitOperations limits, Caller caller, String key) {
    assertThat(limits.decide(caller, Map.of(key, 1L), false).join().isGranted()).isTrue();
  }

  private LimitOperations api(LimitBackend store) throws IOException {
    return new LimitOperations(store, new AccountQuotas(ApiKeyStore.open(dir)), keys);
  }

  @Test
  void keysInMemory_areBoundedForEachAccount() throws IOException {
    Limits throttle = Limits.builder().clock(clock).build();
    LimitOperations limits = api(LocalLimitBackend.open(dir, throttle, 1_000));
    fill(limits);
    assertThat(throttle.size()).as("three keys and a limit").isEqualTo(4);
    limits.remove(Caller.ANYBODY, "t:*").join();
    limits.makeRoom();
    assertThat(keys.count()).as("they went with their template").isZero();
  }

  @Test
  void keysInRedis_areBoundedForEachAccount() throws IOException {
    try (RedisServer redis = RedisServer.start()) {
      SharedLimitBackend fleet =
          SharedLimitBackend.open(
              dir, RedisConfig.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE));
      try {
        Awaitility.await().atMost(RedisLimitsTest.PATIENCE).until(() -> fleet.status().available());
        fill(api(fleet));
        assertThat((List<?>) redis.command("KEYS", "*t:*")).as("three keys and a limit").hasSize(4);
      } finally {
        fleet.close();
      }
    }
  }
}
