package dev.sluice.testkit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.testkit.Await;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("any-jdk")
@Timeout(90)
class RedisSentinelsTest {
  @Test
  void killMaster_theReplicaWithAWrongClockIsPromoted() {
    RedisSentinels all = RedisSentinels.start(Duration.ofHours(-1));
    try (all) {
      List<Integer> ports = all.ports();
      assertThat(all.uri())
          .isEqualTo(
              "redis-sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/0#mymaster"
                  .formatted(ports.toArray()));
      assertThat(all.replica().micros())
          .isCloseTo(all.master().micros() - 3_600_000_000L, within(60_000_000L));
      all.master().command("SET", "k", "v");
      Await.until(
          () -> "the key on the replica",
          Duration.ofSeconds(10),
          () -> "v".equals(all.replica().command("GET", "k")));

      all.killMaster();
      all.awaitFailover();
      assertThat(all.replica().command("SET", "k", "w")).isEqualTo("OK");
      for (int port : ports) {
        assertThat(
                new RedisConsole(port, List.of())
                    .command(List.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")))
            .isEqualTo(List.of("127.0.0.1", Integer.toString(all.replica().port())));
      }
    }
    assertThat(all.master().isAlive()).isFalse();
    assertThat(all.replica().isAlive()).isFalse();
    for (int port : all.ports()) {
      assertThatThrownBy(() -> new RedisConsole(port, List.of()).command(List.of("PING")))
          .isInstanceOf(UncheckedIOException.class);
    }
  }
}
