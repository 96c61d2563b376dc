package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rates and templates of the fleet: what one node sets, all have. */
@Tag("any-jdk")
final class FleetRulesTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @AutoClose private static final RedisServer server = RedisServer.start();

  private final String prefix = StandingRedis.newName();
  private final List<SharedLimits> opened = new ArrayList<>();

  @AfterEach
  void close() {
    opened.forEach(SharedLimits::close);
  }

  private SharedLimits node() {
    return node(SharedLimits.builder());
  }

  private SharedLimits node(SharedLimits.Builder builder) {
    SharedLimits limits =
        builder
            .url(server.uri())
            .prefix(prefix)
            .timeout(PATIENCE)
            .options(SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED))
            .build();
    opened.add(limits);
    return StandingRedis.awaitConnected(limits);
  }

  private long version() {
    return Long.parseLong(
        String.valueOf(server.command("HGET", new RedisKeys(prefix).rules(), "@version")));
  }

  private static void awaitRules(SharedLimits node, Named... rules) {
    List<Named> expected = List.of(rules);
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> assertThat(Named.of(node)).containsExactlyInAnyOrderElementsOf(expected));
  }

  @Test
  void rules_setAtOneNode_areSeenAtAnother() {
    SharedLimits one = node();
    SharedLimits other = node();
    one.blocking().set("key", new Limit.Rate(0, 3));
    one.blocking().set("tenant:*", new Limit.Rate(0.5, 2.5));
    awaitRules(other, Named.rate("key", 0, 3), Named.rate("tenant:*", 0.5, 2.5));
    assertThat(other.blocking().decide(Map.of("key", 2L)).isGranted()).isTrue();
    assertThat(one.blocking().decide(Map.of("key", 2L))).isEqualTo(new Decision.Depleted("key", 1));
    assertThat(other.blocking().remove("key")).isTrue();
    awaitRules(one, Named.rate("tenant:*", 0.5, 2.5));
    assertThat(one.blocking().remove("tenant:*")).isTrue();
    awaitRules(other);
    assertThat(other.blocking().remove("tenant:*")).isFalse();
  }

  @Test
  void reconfigure_atOneNode_holdsAtAnother() {
    SharedTokenBucket one = node().bucket("mails", new Limit.Manual(10));
    SharedTokenBucket other = node().bucket("mails", new Limit.Manual(10));
    assertThat(other.blocking().tryAcquire(4)).isTrue();
    one.blocking().reconfigure(new Limit.Manual(100));
    assertThat(other.blocking().available()).as("the newer counts at once").isEqualTo(6);
    await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(other.limit()).isEqualTo(new Limit.Manual(100)));
    SharedTokenBucket late = node().bucket("mails", new Limit.Manual(10));
    assertThat(late.limit()).as("outlasts the code").isEqualTo(new Limit.Manual(100));
    assertThat(late.blocking().tryAcquire(6)).isTrue();
    assertThat(one.blocking().available()).isZero();
  }

  @Test
  void equalValues_changeNoVersion() {
    SharedLimits.Blocking throttle = node().blocking();
    throttle.set("key", new Limit.Rate(1, 2));
    long before = version();
    throttle.set("key", new Limit.Rate(1, 2));
    throttle.set("key", new Limit.Rate(1.0, 2.0));
    assertThat(throttle.remove("unknown")).isFalse();
    assertThat(version()).isEqualTo(before);
    throttle.set("key", new Limit.Rate(1, 3));
    assertThat(version()).isGreaterThan(before);
  }

  @Test
  void anEqualValue_whileOthersChanged_hidesNothing() {
    SharedLimits one = node();
    one.blocking().set("a", new Limit.Rate(1, 1));
    SharedLimits other = node();
    awaitRules(other, Named.rate("a", 1, 1));
    one.blocking().set("b", new Limit.Rate(1, 1));
    other.blocking().set("a", new Limit.Rate(1, 1));
    assertThat(Named.of(other))
        .containsExactlyInAnyOrder(Named.rate("a", 1, 1), Named.rate("b", 1, 1));
  }

  @Test
  void aChange_whileOthersChanged_readsTheirs() {
    SharedLimits one = node();
    SharedLimits other = node();
    for (int i = 0; i < 5; i++) {
      one.blocking().set("one-" + i, new Limit.Rate(1, 1));
    }
    other.blocking().set("other", new Limit.Rate(1, 1));
    assertThat(Named.of(other)).hasSize(6);
  }

  @Test
  void flushAll_theNodesRestoreTheRules() {
    SharedLimits one = node();
    SharedLimits other = node();
    one.blocking().set("key", new Limit.Rate(1, 2));
    one.blocking().set("t:*", new Limit.Rate(1, 2));
    one.bucket("mails", new Limit.Manual(1)).blocking().reconfigure(new Limit.Manual(7));
    awaitRules(other, Named.rate("key", 1, 2), Named.rate("t:*", 1, 2));
    server.command("FLUSHALL");
    String rules = new RedisKeys(prefix).rules();
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> assertThat(server.command("HGET", rules, "kkey")).isEqualTo("rate 1.0 2.0"));
    SharedLimits late = node();
    awaitRules(late, Named.rate("key", 1, 2), Named.rate("t:*", 1, 2));
    assertThat(late.bucket("mails", new Limit.Manual(1)).limit()).isEqualTo(new Limit.Manual(7));
    late.blocking().set("later", new Limit.Rate(1, 1));
    awaitRules(one, Named.rate("key", 1, 2), Named.rate("t:*", 1, 2), Named.rate("later", 1, 1));
    awaitRules(other, Named.rate("key", 1, 2), Named.rate("t:*", 1, 2), Named.rate("later", 1, 1));
  }

  @Test
  void restore_withMoreLimits_followsOneWithFewer() {
    Named old = Named.rate("key", 1, 1);
    Named recent = Named.rate("key", 2, 2);
    SharedLimits.Builder less = SharedLimits.builder().cachedLimits(Named.toMap(List.of(old)), 4);
    SharedLimits.Builder more =
        SharedLimits.builder().cachedLimits(Named.toMap(List.of(recent)), 6);
    SharedLimits one = node(less);
    awaitRules(one, old);
    SharedLimits other = node(more);
    awaitRules(other, recent);
    awaitRules(one, recent);
  }

  @Test
  void restore_whenTheOtherKnewOneVersionMore_isNotHidden() {
    // One node saw the last change; no other node did before the data were lost.
    RuleBookProbe one = new RuleBookProbe(server, prefix);
    RuleBookProbe other = new RuleBookProbe(server, prefix);
    try (one;
        other) {
      one.put("kkey", "rate 1.0 1.0");
      one.put("kkey", "rate 1.0 2.0");
      other.sync();
      one.put("kkey", "rate 1.0 3.0");
      server.command("DEL", new RedisKeys(prefix).rules());
      other.sync();
      assertThat(server.command("HGET", new RedisKeys(prefix).rules(), "kkey"))
          .isEqualTo("rate 1.0 2.0");
      one.sync();
      other.sync();
      assertThat(server.command("HGET", new RedisKeys(prefix).rules(), "kkey"))
          .isEqualTo("rate 1.0 3.0");
      assertThat(other.rules()).isEqualTo(one.rules());
      assertThat(other.rules()).containsEntry("kkey", "rate 1.0 3.0");
    }
  }

  @Test
  void twoNodesWithDifferentKnowledge_theNewerCounts() {
    try (Scripts scripts = Scripts.inServerTime(server)) {
      String key = prefix + "bucket";
      ScriptLimit old = ScriptLimit.of(new Limit.Manual(10));
      ScriptLimit recent = ScriptLimit.of(new Limit.Manual(5));
      scripts.decide("take", 7, List.of(new Scripts.Item(key, 3, recent)));
      List<Long> behind = scripts.decide("take", 6, List.of(new Scripts.Item(key, 2, old)));
      assertThat(behind.subList(0, 2)).as("of 5, not of 10").containsExactly(1L, 0L);
      assertThat(behind.get(4)).as("newer rules").isEqualTo(7);
      assertThat(scripts.get(key)).contains(recent.params());
      List<Long> ahead = scripts.decide("look", 8, List.of(new Scripts.Item(key, 1, old)));
      assertThat(ahead.get(0)).as("depleted: no tokens came by going back").isEqualTo(2);
      assertThat(ahead.get(4)).isZero();
    }
  }

  @Test
  void fiveThousandRules_areSetReadAndRestored() {
    SharedLimits one = node();
    List<CompletableFuture<Void>> changes = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      changes.add(one.set("key-" + i, new Limit.Rate(i / 1000.0, 10)));
    }
    changes.forEach(CompletableFuture::join);
    SharedLimits other = node();
    await().atMost(PATIENCE).until(() -> Named.of(other).size() == 5_000);
    server.command("DEL", new RedisKeys(prefix).rules());
    String rules = new RedisKeys(prefix).rules();
    await().atMost(PATIENCE).until(() -> server.command("HLEN", rules).equals(5_003L));
    assertThat(node().blocking().decide(Map.of("key-0", 11L)))
        .isEqualTo(new Decision.Impossible("key-0", 10));
  }

  @Test
  void tenThousandRules_areTheMost() {
    List<Named> most = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      most.add(Named.rate("key-" + i, 1, 1));
    }
    SharedLimits.Blocking throttle =
        node(SharedLimits.builder().cachedLimits(Named.toMap(most), 7)).blocking();
    assertThatThrownBy(() -> throttle.set("one-more", new Limit.Rate(1, 1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("at most 10000 limits")
        .hasMessageContaining("one-more");
    throttle.set("key-0", new Limit.Rate(2, 2));
    assertThat(throttle.remove("key-1")).isTrue();
    throttle.set("one-more", new Limit.Rate(1, 1));
  }

  @Test
  void rulesLostWithAllNodes_andSetAnew_countForOldBuckets() {
    SharedLimits one = node();
    for (double burst : new double[] {1_000, 2_000, 3_000}) {
      one.blocking().set("x", new Limit.Rate(0, burst));
    }
    assertThat(one.blocking().tryAcquire("x")).isTrue();
    one.close();
    server.command("DEL", new RedisKeys(prefix).rules());
    SharedLimits.Blocking late = node().blocking();
    late.set("x", new Limit.Rate(0, 10));
    int granted = 0;
    while (granted < 100 && late.tryAcquire("x")) {
      granted++;
    }
    assertThat(granted).isLessThanOrEqualTo(10);
  }
}
