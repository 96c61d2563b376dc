package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
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
    return ServerLog.unsafeSettings(config, loopback);
  }

  @Test
  void defaults_areSafe() {
    assertThat(found(config(), true)).isEmpty();
  }

  @Test
  void keyWithoutTlsBeyondLoopback_isWarnedOf() {
    ServerConfig keyed = config().withBootstrapKey("secret");
    assertThat(found(keyed, true)).isEmpty();
    assertThat(found(keyed, false)).singleElement().asString().contains("plaintext", "tls.cert");
    assertThat(found(keyed.withTls(new ServerTls(data, data, null)), false)).isEmpty();
  }

  @Test
  void redisWithoutPassword_isWarnedOf() {
    for (String open : List.of("redis://r:6379", "redis-cluster://a,b", "redis-sentinel://s/0#m")) {
      assertThat(found(config().withRedis(ServerRedis.at(open)), true))
          .as(open)
          .singleElement()
          .asString()
          .contains("redis.url has no password");
    }
    for (String closed :
        List.of("redis://:pw@r:6379", "rediss://u:pw@r", "redis-cluster://u:p@a,b")) {
      assertThat(found(config().withRedis(ServerRedis.at(closed)), true)).as(closed).isEmpty();
    }
  }

  @Test
  void dataDirectoryThatOthersCanRead_isWarnedOf() throws IOException {
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(found(config(), true)).singleElement().asString().contains("mode to 700");
  }
}
