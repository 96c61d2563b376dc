package dev.sluice.testkit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("any-jdk")
@Timeout(60)
class RedisClusterTest {
  @Test
  void start_everyNodeHasAThirdOfTheSlots_andKnowsTheOthers() {
    RedisCluster cluster = RedisCluster.start();
    try (cluster) {
      assertThat(cluster.uris()).hasSize(3).doesNotHaveDuplicates();
      for (int n = 0; n < 3; n++) {
        assertThat(String.valueOf(cluster.node(n).command("CLUSTER", "SLOTS")))
            .contains("[127.0.0.1, " + cluster.node(0).port() + ",")
            .contains("[127.0.0.1, " + cluster.node(1).port() + ",")
            .contains("[127.0.0.1, " + cluster.node(2).port() + ",");
      }
      for (int i = 0; i < 300; i++) {
        String key = "k" + i;
        RedisServer owner = cluster.nodeOf(key);
        assertThat(owner.command("SET", key, "v")).isEqualTo("OK");
        for (int n = 0; n < 3; n++) {
          RedisServer node = cluster.node(n);
          if (node != owner) {
            assertThatThrownBy(() -> node.command("GET", key))
                .hasMessageContaining("MOVED " + cluster.slot(key) + " 127.0.0.1:" + owner.port());
          }
        }
      }
      for (int n = 0; n < 3; n++) {
        assertThat((Long) cluster.node(n).command("DBSIZE")).isBetween(50L, 150L);
      }
    }
    assertThat(IntStream.range(0, 3).mapToObj(cluster::node)).noneMatch(RedisServer::isAlive);
  }

  @Test
  void awaitOk_afterANodeRestartedEmpty_returns() {
    try (RedisCluster cluster = RedisCluster.start()) {
      RedisServer node = cluster.nodeOf("k");
      node.command("SET", "k", "v");
      node.kill();
      node.restart();
      cluster.awaitOk();
      assertThat(node.command("GET", "k")).isNull();
    }
  }
}
