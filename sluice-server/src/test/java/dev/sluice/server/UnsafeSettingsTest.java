package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.support.LifecycleLog;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UnsafeSettingsTest {
  @TempDir Path data;

  @BeforeEach
  void makePrivate() throws IOException {
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx------"));
  }

  private ServerConfig config() {
    return ServerConfig.defaults(data);
  }

  private static List<String> found(ServerConfig config, boolean loopback) {
    return LifecycleLog.unsafeSettings(config, loopback);
  }

  @Test
  void defaults_areSafe() {
    assertThat(found(config(), true)).isEmpty();
  }

  @Test
  void keyWithoutTlsBeyondLoopback_isWarnedOf() {
    ServerConfig keyed = config().withBootstrapKey("secret");
    assertThat(found(keyed, true)).isEmpty();
    assertThat(found(config(), false)).as("no keys").isEmpty();
    assertThat(found(keyed, false)).singleElement().asString().contains("plaintext", "tls.cert");
    assertThat(found(keyed.withTls(new TlsConfig(data, data, null)), false)).isEmpty();
  }

  @Test
  void redisWithoutPassword_isWarnedOf() {
    for (String open : List.of("redis://r:6379", "redis-cluster://a,b", "redis-sentinel://s/0#m")) {
      assertThat(found(config().withRedis(RedisConfig.at(open)), true))
          .as(open)
          .singleElement()
          .asString()
          .contains("redis.url has no password");
    }
    for (String closed :
        List.of(
            "redis://:pw@localhost:6379",
            "redis://:pw@127.0.0.1:6379",
            "redis://:pw@[::1]:6379",
            "redis-cluster://u:p@127.0.0.1:1,127.0.0.2:1",
            "rediss://u:pw@r",
            "rediss-cluster://u:p@a,b")) {
      assertThat(found(config().withRedis(RedisConfig.at(closed)), true)).as(closed).isEmpty();
    }
  }

  @Test
  void passwordOfRedisWithoutTlsBeyondLoopback_isWarnedOf() {
    for (String plain :
        List.of(
            "redis://:pw@r:6379",
            "redis://:pw@localhost.example:6379",
            "redis-cluster://u:p@127.0.0.1,b",
            "redis-sentinel://p@s/0#m")) {
      assertThat(found(config().withRedis(RedisConfig.at(plain)), true))
          .as(plain)
          .singleElement()
          .asString()
          .contains("password in redis.url travels in plaintext", "rediss://")
          .doesNotContain("pw");
    }
  }

  @Test
  void dataDirectoryThatOthersCanRead_isWarnedOf() throws IOException {
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(found(config(), true)).singleElement().asString().contains("mode to 700");
  }

  @Test
  void address_decidesWhetherKeysTravelBeyondLoopback() throws IOException {
    ServerConfig keyed = config().withBootstrapKey("secret");
    try (CapturedLog log = new CapturedLog()) {
      LifecycleLog.unsafeSettings(keyed, new InetSocketAddress("127.0.0.2", 1));
      assertThat(log.text()).doesNotContain("unsafe");
      for (String address : List.of("0.0.0.0", "192.0.2.1", "::")) {
        LifecycleLog.unsafeSettings(keyed, new InetSocketAddress(address, 1));
      }
      assertThat(log.text().lines().filter(line -> line.contains("WARN"))).hasSize(3);
      assertThat(log.text()).contains("unsafe: API keys travel in plaintext");
    }
  }

  @Test
  void serverThatStarts_warns() throws IOException {
    // No Redis listens there, which is an outage and not an error.
    ServerConfig config = config().withRedis(RedisConfig.at("redis://127.0.0.1:1"));
    try (CapturedLog log = new CapturedLog();
        TestServer server = TestServer.start(config)) {
      assertThat(server).isNotNull();
      assertThat(log.text()).contains("unsafe: redis.url has no password");
    }
  }
}
