package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Passwords, users and certificates, right and wrong. */
@Tag("any-jdk")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class AccessTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** So that a refusal is heard, however busy the machine is, before Redis is held to be silent. */
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private static final Limit LIMIT = Limit.perSecond(100);

  private static void assertDecidedByRedis(SharedLimits.Builder settings) {
    try (FleetNode node = new FleetNode(settings, LIMIT, OutageMode.LOCAL)) {
      Await.until("Redis", PATIENCE, () -> node.status().available());
      assertThat(node.take().judge()).isEqualTo(FleetNode.Judge.REDIS);
    }
  }

  /** It opens, says what is wrong, and grants by share. */
  private static void assertDegraded(SharedLimits.Builder settings, String cause) {
    try (FleetNode node = new FleetNode(settings, LIMIT, OutageMode.LOCAL)) {
      Await.until(
          "the loss",
          PATIENCE,
          () ->
              node.events().stream()
                  .anyMatch(event -> event.kind() == RecordedOutages.Kind.STARTED));
      // On a busy machine the start may give up before the refusal is heard.
      Await.until("the cause", PATIENCE, () -> node.events().toString().contains(cause));
      assertThat(node.events().toString()).doesNotContain("secret");
      Await.until("a grant by share", PATIENCE, () -> node.take().granted());
      assertThat(node.status().available()).isFalse();
      assertThat(node.status().local()).isPositive();
    }
  }

  private static SharedLimits.Builder to(String url) {
    return SharedLimits.builder().url(url).timeout(TIMEOUT);
  }

  @Test
  void password_right_redisDecides() {
    try (RedisServer server = RedisServer.builder().password("secret").start()) {
      assertDecidedByRedis(to(server.uri()));
    }
  }

  @Test
  void password_wrong_saysSo() {
    try (RedisServer server = RedisServer.builder().password("right").start()) {
      assertDegraded(to("redis://:secret@127.0.0.1:" + server.port()), "WRONGPASS");
    }
  }

  @Test
  void password_missing_saysSo() {
    try (RedisServer server = RedisServer.builder().password("right").start()) {
      assertDegraded(to("redis://127.0.0.1:" + server.port()), "NOAUTH");
    }
  }

  @Test
  void user_withPassword_redisDecides() {
    try (RedisServer server = RedisServer.builder().password("limiter", "secret").start()) {
      assertDecidedByRedis(to(server.uri()));
    }
  }

  @Test
  void user_withoutScripts_saysSo() {
    try (RedisServer server = RedisServer.start()) {
      server.command("ACL", "SETUSER", "poor", "on", ">secret", "~*", "+@all", "-@scripting");
      assertDegraded(to("redis://poor:secret@127.0.0.1:" + server.port()), "NOPERM");
    }
  }

  private static String connectionOf(RedisServer server, String user) {
    return String.valueOf(server.command("CLIENT", "LIST"))
        .lines()
        .filter(line -> line.contains("user=" + user))
        .map(line -> line.substring(0, line.indexOf(' ')))
        .collect(Collectors.joining(","));
  }

  @Test
  void userWithoutPermissionToRemoveLimits_decisionsContinue() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server)) {
      server.command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-hdel");
      String url = "redis://reader:secret@127.0.0.1:" + proxy.port();
      try (FleetNode node = new FleetNode(to(url), LIMIT, OutageMode.LOCAL)) {
        Await.until("Redis", PATIENCE, () -> node.status().available());
        String connection = connectionOf(server, "reader");
        node.limits().blocking().set("key", new Limit.Rate(1, 1));
        assertThat(node.limits().remove("key"))
            .failsWithin(PATIENCE)
            .withThrowableThat()
            .withCauseInstanceOf(RedisUnavailableException.class)
            .withMessageContaining("script");
        Await.during(Duration.ofMillis(2_300));
        assertThat(node.take().judge()).isEqualTo(FleetNode.Judge.REDIS);
        assertThat(connectionOf(server, "reader")).as("not dropped").isEqualTo(connection);
        assertThat(node.status().outages()).isZero();
        proxy.refuse();
        proxy.cut();
        Await.until("the loss", PATIENCE, () -> !node.status().available());
        proxy.heal();
        Await.until("the return", PATIENCE, () -> node.status().available());
      }
    }
  }

  @Test
  void tls_trusted_redisDecides() {
    try (RedisServer server = RedisServer.builder().tls().start()) {
      assertDecidedByRedis(to(server.uri()).trust(server.certificate()));
    }
  }

  @Test
  void tls_untrusted_saysSo() {
    try (RedisServer server = RedisServer.builder().tls().start()) {
      assertDegraded(to(server.uri()), "certification path");
    }
  }
}
