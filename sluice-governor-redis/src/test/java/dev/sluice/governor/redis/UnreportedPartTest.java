package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisCluster;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A part of a cluster that does not take the report with which the node returns. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class UnreportedPartTest {
  private static final String PREFIX = "token-governor:";

  private static String url(RedisCluster cluster) {
    return cluster.uris().stream()
        .map(uri -> uri.substring("redis://".length()))
        .collect(Collectors.joining(",", "redis-cluster://", ""));
  }

  private static RedisServer partOf(RedisCluster cluster, String model) {
    return cluster.nodeOf(ModelKeys.of(PREFIX, model).all()[0]);
  }

  @Test
  void keyThatTheShareGranted_isNotGrantedAgain_beforeTheReport() {
    try (RedisCluster cluster = RedisCluster.start()) {
      RedisServer members = cluster.nodeOf(PREFIX + "2:{fleet}:members");
      String model =
          IntStream.range(0, 1_000)
              .mapToObj(i -> "model-" + i)
              .filter(each -> partOf(cluster, each).port() != members.port())
              .findFirst()
              .orElseThrow();
      RedisServer part = partOf(cluster, model);
      BudgetConfig config =
          RedisBudgetStoreTest.config(
              Map.of(model, SeedBudget.budget(60_000, 1_000).build()), Duration.ofMinutes(1));
      TokenRequest keyed =
          TokenRequest.of(model, 10).withPriorityClass(OutageRig.P1).withIdempotencyKey("k");
      try (OutageRig rig = OutageRig.local(url(cluster), 1, config)) {
        // Only a report needs this permission.
        part.command("ACL", "SETUSER", "default", "-zrank");
        part.pause();
        members.pause();
        TokenDecision.Granted granted;
        try {
          rig.awaitLost();
          granted = rig.grantedSoon(keyed);
        } finally {
          members.resume();
          part.resume();
        }
        rig.awaitReturned();
        assertThat(rig.ask(keyed)).isInstanceOf(TokenDecision.Denied.class);
        // An outage is suspected, but not declared: the part with the model is still asked.
        members.pause();
        try {
          for (int i = 0; i < 14; i++) {
            Await.during(Duration.ofMillis(50));
            assertThat(rig.ask(keyed)).isInstanceOf(TokenDecision.Denied.class);
          }
        } finally {
          members.resume();
        }
        part.command("ACL", "SETUSER", "default", "+zrank");
        TokenDecision.Granted again = rig.grantedSoon(keyed);
        assertThat(again.reservation()).isEqualTo(granted.reservation());
        assertThat(get(rig.store.settle(again.reservation(), 10))).isPresent();
        Await.during(Duration.ofMillis(500));
        assertThat(get(rig.store.status()).models().get(model).running()).isZero();
      }
    }
  }
}
