package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis loses the rules, and somebody sets others before those who know them have told it. */
@Tag("any-jdk")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LostRulesTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String TEMPLATE = "rate 0.0 3.0";
  private static final String OTHER = "rate 1.0 1.0";

  @AutoClose private static final RedisServer server = RedisServer.start();

  private final String prefix = StandingRedis.newName();
  private final String rules = new RedisKeys(prefix).rules();

  private SharedLimits node() {
    SharedLimits limits =
        SharedLimits.builder().url(server.uri()).prefix(prefix).timeout(PATIENCE).build();
    return StandingRedis.awaitConnected(limits);
  }

  private RuleBookProbe book() {
    return new RuleBookProbe(server, prefix);
  }

  private void lose() {
    server.command("DEL", rules);
  }

  private static void awaitRules(SharedLimits node, Named... rules) {
    List<Named> expected = List.of(rules);
    Await.until(
        "the rules " + List.of(rules),
        PATIENCE,
        () -> Named.of(node).size() == expected.size() && Named.of(node).containsAll(expected));
  }

  private static int grantedOf(SharedLimits node, String key) {
    int granted = 0;
    for (int i = 0; i < 20; i++) {
      granted += node.blocking().tryAcquire(key) ? 1 : 0;
    }
    return granted;
  }

  @Test
  void setRate_rightAfterTheLoss_leavesAllRulesInForce() {
    Named template = Named.rate("tenant:*", 0, 3);
    Named other = Named.rate("other", 1, 1);
    try (SharedLimits one = node();
        SharedLimits two = node()) {
      one.blocking().set("tenant:*", new Limit.Rate(0, 3));
      awaitRules(two, template);
      lose();
      two.blocking().set("other", new Limit.Rate(1, 1));
      assertThat(Named.of(two)).as("at once").containsExactly(other, template);
      awaitRules(one, other, template);
      awaitRules(two, other, template);
      assertThat(grantedOf(one, "tenant:x")).isEqualTo(3);
      assertThat(grantedOf(two, "tenant:x")).isZero();
    }
  }

  @Test
  void freshNode_setsItsRateFirst_andLearnsTheOthers() {
    Named template = Named.rate("tenant:*", 0, 3);
    Named mine = Named.rate("mine", 1, 1);
    try (SharedLimits one = node()) {
      one.blocking().set("tenant:*", new Limit.Rate(0, 3));
      lose();
      try (SharedLimits fresh = node()) {
        fresh.blocking().set("mine", new Limit.Rate(1, 1));
        awaitRules(fresh, mine, template);
        awaitRules(one, mine, template);
        assertThat(grantedOf(fresh, "tenant:x")).isEqualTo(3);
      }
    }
  }

  @Test
  void sync_afterAFreshNodeWrote_restoresLimitsThatOnlyOthersKnow() {
    try (RuleBookProbe one = book()) {
      one.put("ktenant:*", TEMPLATE);
      one.put("kboth", "rate 2.0 2.0");
      lose();
      try (RuleBookProbe fresh = book()) {
        fresh.put("kother", OTHER);
        fresh.put("kboth", "rate 5.0 5.0");
        one.sync();
        fresh.sync();
        assertThat(one.rules())
            .as("what was set since counts")
            .containsEntry("kboth", "rate 5.0 5.0")
            .containsEntry("kother", OTHER)
            .containsEntry("ktenant:*", TEMPLATE)
            .hasSize(3);
        assertThat(fresh.rules()).isEqualTo(one.rules());
      }
    }
  }

  @Test
  void removed_afterTheLoss_doesNotComeBackFromOthers() {
    try (RuleBookProbe one = book();
        RuleBookProbe two = book()) {
      one.put("ktenant:*", TEMPLATE);
      one.put("kother", OTHER);
      two.sync();
      lose();
      assertThat(two.put("ktenant:*", null)).as("there was one").isTrue();
      one.sync();
      two.sync();
      assertThat(one.rules()).containsOnlyKeys("kother");
      assertThat(two.rules()).containsOnlyKeys("kother");
    }
  }

  @Test
  void removed_byAFreshNodeAfterTheLoss_doesNotComeBack() {
    try (RuleBookProbe one = book()) {
      one.put("ktenant:*", TEMPLATE);
      lose();
      try (RuleBookProbe fresh = book()) {
        fresh.put("ktenant:*", OTHER);
        fresh.put("ktenant:*", null);
        one.sync();
        assertThat(one.rules()).isEmpty();
      }
    }
  }

  @Test
  void removed_beforeTheLoss_isNotRestoredByANodeThatMissedIt() {
    try (RuleBookProbe one = book();
        RuleBookProbe two = book()) {
      one.put("ktenant:*", TEMPLATE);
      one.put("kkept", OTHER);
      two.sync();
      one.put("ktenant:*", null);
      lose();
      two.put("kother", OTHER);
      assertThat(two.rules()).as("not heard yet").containsKey("ktenant:*");
      one.sync();
      two.sync();
      assertThat(one.rules()).containsOnlyKeys("kkept", "kother");
      assertThat(two.rules()).containsOnlyKeys("kkept", "kother");
    }
  }

  @Test
  void removed_whileANodeWasAway_doesNotComeBackFromIt() {
    try (RuleBookProbe one = book();
        RuleBookProbe away = book()) {
      one.put("ktenant:*", TEMPLATE);
      away.sync();
      lose();
      one.sync();
      one.put("ktenant:*", null);
      away.sync();
      assertThat(away.rules()).as("who told Redis knew as much").isEmpty();
    }
  }

  @Test
  void remembered_ofTheSameLife_bringsNothingBack() {
    try (SharedLimits one = node()) {
      one.blocking().set("tenant:*", new Limit.Rate(0, 3));
      long version = version();
      one.blocking().remove("tenant:*");
      try (SharedLimits late = remembering(version)) {
        StandingRedis.awaitConnected(late);
        awaitRules(late);
        assertThat(server.command("HGET", rules, "ktenant:*")).isNull();
      }
    }
  }

  @Test
  void remembered_ofALifeThatWasLost_comesBack() {
    long version;
    try (SharedLimits one = node()) {
      one.blocking().set("tenant:*", new Limit.Rate(0, 3));
      version = version();
    }
    lose();
    try (SharedLimits fresh = node()) {
      fresh.blocking().set("mine", new Limit.Rate(1, 1));
      try (SharedLimits late = remembering(version)) {
        awaitRules(late, Named.rate("mine", 1, 1), Named.rate("tenant:*", 0, 3));
        awaitRules(fresh, Named.rate("mine", 1, 1), Named.rate("tenant:*", 0, 3));
      }
    }
  }

  private long version() {
    return Long.parseLong(String.valueOf(server.command("HGET", rules, "@version")));
  }

  private SharedLimits remembering(long version) {
    return SharedLimits.builder()
        .url(server.uri())
        .prefix(prefix)
        .timeout(PATIENCE)
        .cachedLimits(Named.toMap(List.of(Named.rate("tenant:*", 0, 3))), version)
        .build();
  }
}
