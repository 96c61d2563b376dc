package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.limits.RedisKeyedLimits;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.redis.internal.limits.RedisLimits;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rules that nobody has told yet, that Redis does not take, or that are not ours. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RulesOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final String RULES = new RedisKeys("sluice:").rules();

  private final RecordedOutages outages = new RecordedOutages();
  private final Set<Named> received = ConcurrentHashMap.newKeySet();

  private SharedLimits open(RedisServer server) {
    return SharedLimits.builder()
        .url(server.uri())
        .outageListener(outages)
        .limitsListener((limits, version) -> received.addAll(Named.of(limits)))
        .build();
  }

  /** A node that a busy machine does not keep from connecting. */
  private static SharedLimits patient(RedisServer server) {
    return SharedLimits.builder().url(server.uri()).timeout(Duration.ofSeconds(20)).build();
  }

  private static boolean passes(SharedLimits node, OutageMode policy) {
    return new RedisKeyedLimits(((RedisLimits) node).fleet(), policy, false, null)
        .tryAcquire(Map.of("unknown", 1L))
        .join();
  }

  private static void awaitStored(RedisServer server, String field, String text) {
    Await.until(
        "the rule in Redis", PATIENCE, () -> text.equals(server.command("HGET", RULES, field)));
  }

  @Test
  void open_whileRedisIsAway_keysOfWhichNothingIsKnownDoNotPass() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      try (SharedLimits node = open(server)) {
        assertThat(passes(node, OutageMode.CLOSED)).isFalse();
        assertThat(passes(node, OutageMode.LOCAL)).isFalse();
        assertThat(passes(node, OutageMode.OPEN)).isTrue();
        server.restart();
        Await.until("the return", PATIENCE, () -> node.status().available());
        for (OutageMode policy : OutageMode.values()) {
          assertThat(passes(node, policy)).as(policy.name()).isTrue();
        }
      }
    }
  }

  @Test
  void setRate_whenRedisIsFull_isNotToldAndStoredLater() {
    Named before = Named.rate("before", 1_000, 10);
    Named change = Named.rate("change", 1, 1);
    try (RedisServer server = RedisServer.start();
        SharedLimits node = open(server)) {
      SharedLimits throttle = node;
      FleetNode.awaitShare(node);
      throttle.blocking().set("before", new Limit.Rate(1_000, 10));
      server.command("CONFIG", "SET", "maxmemory", "1");
      CompletableFuture<Void> set = throttle.set("change", new Limit.Rate(1, 1));
      Await.until("the answer", PATIENCE, set::isDone);
      // A pulse may have found it before: then the change is noted.
      if (set.isCompletedExceptionally()) {
        assertThat(set)
            .failsWithin(PATIENCE)
            .withThrowableThat()
            .withCauseInstanceOf(RedisUnavailableException.class)
            // On a busy machine the time-out may come first.
            .withMessageMatching("(?s).*(OOM|in time).*");
      }
      Await.until("the event", PATIENCE, () -> !outages.events().isEmpty());
      assertThat(outages.events().get(0).kind()).isEqualTo(RecordedOutages.Kind.STARTED);
      assertThat(outages.events().get(0).text()).contains("OOM");
      Await.until("a grant by share", PATIENCE, () -> throttle.blocking().tryAcquire("before"));
      assertThat(node.status().local()).isPositive();
      assertThat(node.status().available()).isFalse();
      assertThat(Named.of(throttle)).as("holds here").contains(change);
      assertThat(received).containsExactly(before);
      server.command("CONFIG", "SET", "maxmemory", "0");
      awaitStored(server, "kchange", "rate 1.0 1.0");
      Await.until("the return", PATIENCE, () -> node.status().available());
      Await.until("the message", PATIENCE, () -> received.contains(change));
    }
  }

  @Test
  void setRate_answeredTooLate_failsAndIsStoredLater() {
    Named change = Named.rate("change", 1, 1);
    try (RedisServer server = RedisServer.start();
        SharedLimits node = open(server)) {
      server.pause();
      assertThat(node.set("change", new Limit.Rate(1, 1)))
          .failsWithin(PATIENCE)
          .withThrowableThat()
          .withCauseInstanceOf(RedisUnavailableException.class);
      assertThat(Named.of(node)).as("holds here").containsExactly(change);
      Await.during(Duration.ofMillis(50));
      assertThat(received).isEmpty();
      server.resume();
      awaitStored(server, "kchange", "rate 1.0 1.0");
      Await.until("the message", PATIENCE, () -> received.contains(change));
    }
  }

  @Test
  void foreignRule_doesNotKeepANodeFromReturning() {
    try (RedisServer server = RedisServer.builder().data().start();
        SharedLimits node = open(server)) {
      node.blocking().set("good", new Limit.Rate(1, 1));
      String later = Long.toString(server.micros() + 1_000_000);
      server.command("HSET", RULES, "ka*b*", "rate 1.0 1.0", "kz", "rate 2 2", "@version", later);
      Named read = Named.rate("z", 2, 2);
      Await.until("the rules", PATIENCE, () -> Named.of(node).contains(read));
      server.kill();
      Await.until("the loss", PATIENCE, () -> !node.status().available());
      server.restart();
      Await.until("the return", PATIENCE, () -> node.status().available());
      assertThat(Named.of(node)).containsExactly(Named.rate("good", 1, 1), read);
    }
  }

  @Test
  void dataOfAnotherLayout_isNotTouched() {
    try (RedisServer server = RedisServer.start()) {
      server.command("SET", "sluice:{fleet}:schema", "3");
      assertThatThrownBy(() -> patient(server))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("SCHEMA 3 is stored in Redis, but this version of Sluice needs 2");
      assertThat(server.command("KEYS", "sluice:2:*").toString()).doesNotContain("b:", "k:");
    }
  }

  @Test
  void dataOfTheLayoutBefore_limitsStartEmpty() {
    try (RedisServer server = RedisServer.start()) {
      server.command("HSET", "sluice:1:{fleet}:rules", "@version", "1");
      assertStartsEmpty(server);
    }
  }

  @Test
  void dataOfTheLayoutBefore_nodeThatDiedBeforeItWasAMember_limitsStartEmpty() {
    try (RedisServer server = RedisServer.start()) {
      server.command("HSET", "sluice:1:{fleet}:rules", "@version", "1");
      server.command("SET", "sluice:{fleet}:schema", "2");
      assertStartsEmpty(server);
    }
  }

  private static void assertStartsEmpty(RedisServer server) {
    try (SharedLimits node = patient(server)) {
      SharedTokenBucket.Blocking bucket =
          node.bucket("b", new Limit.Balanced(100, 1, Duration.ofSeconds(1))).blocking();
      assertThat(bucket.available()).isLessThan(50);
    }
  }

  @Test
  void nodeThatDied_leavesTheSharesWithinSeconds() {
    try (RedisServer server = RedisServer.start();
        SharedLimits node = open(server)) {
      FleetConnection connection = ((RedisLimits) node).fleet().connection();
      SharedLimits other = open(server);
      Await.until("shares", PATIENCE, () -> connection.share() == MembershipConfig.PARTS / 2);
      // As if it had been killed: it does not say that it leaves.
      ((RedisLimits) other).fleet().connection().abandon();
      Await.until(
          "its share", Duration.ofSeconds(30), () -> connection.share() == MembershipConfig.PARTS);
    }
  }
}
