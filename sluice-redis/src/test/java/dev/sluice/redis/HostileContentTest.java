package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.OutageDecisions;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Keys of any shape, content that is not ours, scripts that are gone: nothing hangs or leaks. */
@Tag("any-jdk")
final class HostileContentTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Limit FIVE = new Limit.Manual(5);

  private static RedisServer server;
  private static final RecordedOutages OUTAGES = new RecordedOutages();
  private static SharedLimits limits;

  @BeforeAll
  static void start() {
    server = RedisServer.start();
    limits = open("sluice:");
  }

  @AfterAll
  static void stop() {
    limits.close();
    server.close();
  }

  private static SharedLimits open(String prefix) {
    return StandingRedis.awaitConnected(
        SharedLimits.builder()
            .url(server.uri())
            .prefix(prefix)
            .timeout(PATIENCE)
            .outageListener(OUTAGES)
            .build());
  }

  private static SharedTokenBucket.Blocking bucket(String name, OutageMode policy) {
    return limits
        .bucket(name, FIVE, SharedLimitOptions.defaults().withOutageMode(policy))
        .blocking();
  }

  private static void assertRefused(String name, String message) {
    OUTAGES.events().clear();
    assertThat(bucket(name, OutageMode.OPEN).decide(5)).isEqualTo(OutageDecisions.GRANTED);
    assertThat(bucket(name, OutageMode.CLOSED).decide(5)).isEqualTo(OutageDecisions.DENIED);
    assertThat(bucket(name, OutageMode.LOCAL).tryAcquire()).isFalse();
    assertThatThrownBy(() -> bucket(name, OutageMode.OPEN).available())
        .isInstanceOf(RedisUnavailableException.class)
        .hasMessageContaining(message);
    // Events of refusals come once a second at most.
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              bucket(name, OutageMode.CLOSED).peek(1);
              assertThat(OUTAGES.events())
                  .anySatisfy(event -> assertThat(event.toString()).contains("ERROR", message));
            });
    assertThat(limits.status().available()).as("not taken for an outage").isTrue();
    assertThat(bucket("other " + name, OutageMode.CLOSED).tryAcquire()).isTrue();
  }

  @Test
  void aKeyOfAnotherType_isRefusedAndThePolicyDecides() {
    server.command("RPUSH", "sluice:2:b:list", "element");
    assertRefused("list", "WRONGTYPE");
    assertThat(server.command("LLEN", "sluice:2:b:list")).as("untouched").isEqualTo(1L);
  }

  @Test
  void foreignContent_isRefusedByNameAndThePolicyDecides() {
    for (String content : List.of("", "hello", "1 2", "1 2 3 x", "-1 2 3 5:1:0:1", "1 2 3 5:1")) {
      server.command("SET", "sluice:2:b:foreign", content);
      assertThat(bucket("foreign", OutageMode.OPEN).decide(5)).isEqualTo(OutageDecisions.GRANTED);
      assertThat(bucket("foreign", OutageMode.CLOSED).decide(5)).isEqualTo(OutageDecisions.DENIED);
      assertThat(server.command("GET", "sluice:2:b:foreign")).isEqualTo(content);
    }
    assertRefused("foreign", "not a bucket of Sluice: sluice:2:b:foreign");
  }

  @Test
  void foreignRules_areLeftOut() {
    String prefix = StandingRedis.newName();
    String rules = new RedisKeys(prefix).rules();
    server.command("HSET", rules, "kgood", "rate 0 2", "kbad", "what", "kworse", "rate NaN 1");
    server.command("HSET", rules, "", "x", "k", "rate 1 1", "zzz", "rate 1 1", "kx", "strict 1");
    server.command("HSET", rules, "@version", "9", "bmails", "balanced 1 1 -1");
    try (SharedLimits node = open(prefix)) {
      await().atMost(PATIENCE).until(() -> !Named.of(node).isEmpty());
      assertThat(Named.of(node)).containsExactly(Named.rate("good", 0, 2));
      assertThat(node.bucket("mails", FIVE).blocking().available()).isEqualTo(5);
    }
  }

  private static final List<String> NAMES =
      List.of(
          " ",
          "a b  c",
          "schlüssel ключ 鍵 🔑",
          "{",
          "}{",
          "{}",
          "{tag}:x",
          "line\nline\r\n",
          "\u0000",
          "@version",
          "k",
          "bb",
          "1:{fleet}:rules",
          "%d %s %0.f",
          "*x",
          "x".repeat(10_000));

  @Test
  void namesOfAnyShape_areApart() {
    String prefix = StandingRedis.newName();
    try (SharedLimits node = open(prefix);
        SharedLimits tagged = open("{" + prefix + "}:")) {
      for (SharedLimits any : List.of(node, tagged)) {
        for (String name : NAMES) {
          any.blocking().set(name, new Limit.Rate(0, 3));
          assertThat(any.bucket(name, FIVE).blocking().decide(1))
              .isEqualTo(new Decision.Granted(4));
          assertThat(any.blocking().decide(Map.of(name, 1L)).isGranted()).isTrue();
        }
        for (String name : NAMES) {
          assertThat(any.bucket(name, FIVE).blocking().available()).isEqualTo(4);
          assertThat(any.blocking().stats(name).orElseThrow().level()).isEqualTo(2);
          any.bucket(name, FIVE).blocking().reconfigure(new Limit.Manual(7));
          any.blocking().remove(name);
        }
        assertThat(Named.of(any)).isEmpty();
      }
    }
  }

  @Test
  void hugeCosts_areImpossible() {
    SharedLimits.Blocking throttle = limits.blocking();
    throttle.set("huge", new Limit.Rate(1_000, 1e9));
    for (long cost : new long[] {Long.MAX_VALUE, 1L << 53, 1_000_000_001L}) {
      assertThat(throttle.decide(Map.of("huge", cost)))
          .isEqualTo(new Decision.Impossible("huge", 1_000_000_000));
    }
    SharedTokenBucket.Blocking bucket =
        limits.bucket("huge", new Limit.Manual((1L << 53) - 1)).blocking();
    assertThat(bucket.decide(Long.MAX_VALUE))
        .isEqualTo(new Decision.Impossible("", (1L << 53) - 1));
    assertThat(bucket.decide((1L << 53) - 2)).isEqualTo(new Decision.Granted(1));
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Depleted("", 2));
    bucket.replenish(Long.MAX_VALUE);
    assertThat(bucket.available()).isEqualTo((1L << 53) - 1);
  }

  @Test
  void scriptFlush_underLoad_isNotNoticed() {
    SharedTokenBucket.Blocking bucket =
        limits.bucket("flushed", new Limit.Manual(1_000)).blocking();
    for (int i = 0; i < 1_000; i++) {
      if (i % 50 == 0) {
        server.command("SCRIPT", "FLUSH");
      }
      assertThat(bucket.decide(1)).isEqualTo(new Decision.Granted(999 - i));
    }
    assertThat(bucket.tryAcquire()).isFalse();
    assertThat(limits.status().available()).isTrue();
  }

  private static long ttl(String key) {
    return (Long) server.command("PTTL", key);
  }

  @Test
  void keys_liveUntilTheyAreFull() {
    limits.bucket("hour", new Limit.Balanced(10, 10, Duration.ofHours(1))).blocking().tryAcquire(5);
    assertThat(ttl("sluice:2:b:hour")).isBetween(1_700_000L, 1_800_001L);
    limits.bucket("day", new Limit.Strict(10, Duration.ofDays(365))).blocking().tryAcquire(5);
    assertThat(ttl("sluice:2:b:day")).isBetween(1L, Duration.ofDays(365).toMillis() + 1);
    limits.bucket("hand", FIVE).blocking().tryAcquire(5);
    assertThat(ttl("sluice:2:b:hand")).as("none").isEqualTo(-1);
    limits.bucket("hand", FIVE).blocking().reset();
    assertThat(ttl("sluice:2:b:hand")).as("no key is a full bucket").isEqualTo(-2);
    SharedLimits.Blocking throttle = limits.blocking();
    throttle.set("zero", new Limit.Rate(0, 5));
    throttle.tryAcquire("zero");
    assertThat(ttl("sluice:2:k:zero")).isEqualTo(-1);
    throttle.remove("zero");
    assertThat(ttl("sluice:2:k:zero")).isEqualTo(-2);
  }
}
