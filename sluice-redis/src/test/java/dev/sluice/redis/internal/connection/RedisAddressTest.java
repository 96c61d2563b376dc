package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.redis.SharedLimits;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RedisAddressTest {
  @Test
  void parse_validUrls() {
    assertThat(RedisAddress.parse("redis://host")).hasToString("[host:6379]");
    assertThat(RedisAddress.parse(" redis://host:7000/3\n")).hasToString("[host:7000]");
    assertThat(RedisAddress.parse("redis://127.0.0.1:7000")).hasToString("[127.0.0.1:7000]");
    assertThat(RedisAddress.parse("redis://[::1]:7000").uris().get(0).getPort()).isEqualTo(7000);
    RedisAddress secured = RedisAddress.parse("rediss://user:secret@host:7000");
    assertThat(secured).hasToString("[host:7000]");
    assertThat(secured.uris().get(0).isSsl()).isTrue();
    assertThat(secured.cluster()).isFalse();
    assertThat(RedisAddress.parse("redis-sentinel://:secret@one:1,two:2/0#main"))
        .hasToString("[sentinels of main]");
    RedisAddress cluster = RedisAddress.parse("redis-cluster://user:secret@one:1,two:2,three");
    assertThat(cluster).hasToString("[one:1, two:2, three:6379]");
    assertThat(cluster.cluster()).isTrue();
    RedisAddress tls = RedisAddress.parse("rediss-cluster://:p%40ss@one,two");
    assertThat(tls.uris()).hasSize(2).allMatch(uri -> uri.isSsl());
  }

  @Test
  void parse_malformedUrls_hideThePassword() {
    for (String bad :
        List.of(
            "",
            "secret",
            "host:6379",
            "http://:secret@host",
            "redis:/secret",
            "redis://",
            "redis://:secret@",
            "redis://:secret@host:port",
            "redis://:secret@host:99999",
            "redis://:sec ret@host",
            "redis://:secret@ho st",
            "redis-sentinel://:secret@",
            "redis-sentinel://:secret@one,two",
            "redis-cluster://",
            "redis-cluster://:secret@",
            "redis-cluster://:secret@one,,two",
            "redis-cluster://:secret@one:x",
            "REDIS://:secret@host")) {
      assertThatThrownBy(() -> RedisAddress.parse(bad), bad)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("the Redis URL must be")
          .hasMessageNotContaining("secret")
          .hasNoCause();
      if (!bad.isEmpty()) {
        assertThatThrownBy(() -> SharedLimits.builder().url(bad))
            .isInstanceOf(IllegalArgumentException.class);
      }
    }
  }
}
