package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Invalid settings and their error messages. */
final class BadSettingsTest {
  private static final String SECRET = "top-secret-word";

  @TempDir private Path dir;

  private void assertRefused(Map<String, String> environment, String message) {
    assertThatThrownBy(() -> ServerConfigLoader.read(dir, null, environment, Map.of()))
        .isInstanceOf(InvalidSettingsException.class)
        .satisfies(
            refused ->
                assertThat(String.valueOf(refused.getMessage()).replace(dir + "/", ""))
                    .startsWith(message)
                    .doesNotContain(SECRET));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          server.grpc_port = 70000 | sluice.toml: server.grpc_port must be a whole number from 0 to 65535, but was '70000'
          server.grpc_port = -1 | sluice.toml: server.grpc_port must be a whole number from 0 to 65535, but was '-1'
          server.grpc_port = 99999999999999999999999 | sluice.toml: server.grpc_port must be a whole number
          server.grpc_port = "5555" | sluice.toml: server.grpc_port must be a whole number, but was '"5555"'
          server.grpc_port = 1.5 | sluice.toml: server.grpc_port must be a whole number, but was '1.5'
          server.grpc_port = true | sluice.toml: server.grpc_port must be a whole number, but was 'true'
          server.grpc_port = [1] | sluice.toml: server.grpc_port must be a whole number, but was '[1]'
          server.grpc_port.x = 1 | sluice.toml: server.grpc_port must be a whole number, but was '{"x":1}'
          server.host = 1 | sluice.toml: server.host must be text in quotes, but was '1'
          server.host = "" | sluice.toml: server.host must be text, without control characters, but was ''
          server.data_dir = " " | sluice.toml: server.data_dir must be text
          server.data_dir = "a\\u0000b" | sluice.toml: server.data_dir must be text, without control characters, but was 'a?b'
          server.drain_timeout = 10 | sluice.toml: server.drain_timeout must be text in quotes, but was '10'
          server.drain_timeout = "10" | sluice.toml: server.drain_timeout must be a number with the unit ms, s, m or h, from 0s to 1h, but was '10'
          server.drain_timeout = "61m" | sluice.toml: server.drain_timeout must be a number with the unit ms, s, m or h, from 0s to 1h, but was '61m'
          server.drain_timeout = "-1s" | sluice.toml: server.drain_timeout must be a number with the unit ms, s, m or h, from 0s to 1h, but was '-1s'
          broker.sync_interval = "0ms" | sluice.toml: broker.sync_interval must be a number with the unit ms, s, m or h, from 1ms to 1h, but was '0ms'
          transport.max_header_bytes = 1023 | sluice.toml: transport.max_header_bytes must be a whole number from 1024 to 1048576, but was '1023'
          telemetry.otlp_endpoint = "localhost:4317" | sluice.toml: telemetry.otlp_endpoint must be a URL such as http://localhost:4318, without a user, but was 'localhost:4317'
          telemetry.otlp_endpoint = "http://me:top-secret-word@host/" | sluice.toml: telemetry.otlp_endpoint must be a URL such as http://localhost:4318, without a user, but was 'http://***@host/'
          telemetry.otlp_endpoint = "a b" | sluice.toml: telemetry.otlp_endpoint must be a URL
          log.format = "xml" | sluice.toml: log.format must be one of text, json, but was 'xml'
          log.level = "loud" | sluice.toml: log.level must be one of trace, debug, info, warn, error, but was 'loud'
          server.port = 1 | sluice.toml: unknown key 'server.port'; there are server.data_dir, server.host,
          sever.host = "x" | sluice.toml: unknown key 'sever.host'; there are the sections server, auth, tls,
          host = "x" | sluice.toml: unknown key 'host'; there are the sections server,
          broker.max_message_bytes = 100000000 | broker.max_inbound_bytes must be at least broker.max_message_bytes: 67108864 < 100000000
          tls.cert_file = "c" | tls.cert_file and tls.key_file must both be set for TLS: tls.key_file is missing
          tls.key_file = "k" | tls.cert_file and tls.key_file must both be set for TLS: tls.cert_file is missing
          tls.client_ca_file = "k" | tls.cert_file and tls.key_file must both be set for TLS: tls.cert_file is missing
          auth.bootstrap_key_file = "not-there" | auth.bootstrap_key_file not-there does not exist
          auth.bootstrap_key_file = "." | auth.bootstrap_key_file . cannot be read:
          auth.bootstrap_key = "" | sluice.toml: auth.bootstrap_key is invalid: a key must have 1 to 256 visible ASCII characters
          auth.bootstrap_key = "top-secret-word x" | sluice.toml: auth.bootstrap_key is invalid: a key must have
          auth.bootstrap_key = "top-secret-word\\u00e4" | sluice.toml: auth.bootstrap_key is invalid: a key must have 1 to 256 visible ASCII characters without spaces, but had 16 characters
          auth.bootstrap_key = "top-secret-word\\u043a" | sluice.toml: auth.bootstrap_key is invalid: a key must have
          auth.bootstrap_key = "top-secret-word\\r\\nx: y" | sluice.toml: auth.bootstrap_key is invalid: a key must have
          auth.bootstrap_key = ["top-secret-word"] | sluice.toml: auth.bootstrap_key must be text in quotes
          auth.bootstrap_key = top-secret-word | sluice.toml is not valid TOML, line 1, column
          auth.bootstrap_key = "top-secret-word | sluice.toml is not valid TOML, line 1, column
          redis.url = "http://me:top-secret-word@host" | sluice.toml: redis.url is invalid: the Redis URL must be redis://, rediss://,
          redis.url = "redis://me:top-secret-word@host:99999" | sluice.toml: redis.url is invalid: the Redis URL must be
          redis.url = "redis-cluster://me:top-secret-word@" | sluice.toml: redis.url is invalid: the Redis URL must be
          redis.outage_mode = "shut" | sluice.toml: redis.outage_mode must be one of open, closed, local, but was 'shut'
          redis.expected_nodes = 0 | sluice.toml: redis.expected_nodes must be a whole number from 1 to 100000, but was '0'
          server.host = "a" "b" | sluice.toml is not valid TOML, line 1, column
          """)
  void aBadFile_isRefused(String toml, String message) throws IOException {
    Files.writeString(dir.resolve("sluice.toml"), toml);
    assertRefused(Map.of(), message);
  }

  @Test
  void filesThatCannotBeRead_areRefused() throws IOException {
    Path file = dir.resolve("sluice.toml");
    Files.writeString(file, "[auth]\nbootstrap_key = '" + SECRET + "'\nbootstrap_key = 'x'\n");
    assertRefused(Map.of(), "sluice.toml is not valid TOML, line 4, column 1: Duplicate key");
    Files.writeString(file, "[auth]\nbootstrap_key = '" + SECRET + "'\nbootstrap_key_file = 'x'\n");
    assertRefused(
        Map.of(),
        "sluice.toml: auth.bootstrap_key and sluice.toml: auth.bootstrap_key_file both set the same"
            + " key; set one");
    Files.writeString(file, "x = " + "[".repeat(100_000));
    assertRefused(Map.of(), "sluice.toml is not valid TOML");
    Files.write(file, "server.host = 'ä'".getBytes(StandardCharsets.ISO_8859_1));
    assertRefused(Map.of(), "sluice.toml must be UTF-8 text");
    Files.writeString(file, "#".repeat((1 << 20) + 1));
    assertRefused(Map.of(), "sluice.toml must have at most 1048576 bytes");
    Files.delete(file);
    Files.createDirectory(file);
    assertRefused(Map.of(), "sluice.toml cannot be read:");
    Files.delete(file);
    Files.createSymbolicLink(file, dir.resolve("gone"));
    assertRefused(Map.of(), "sluice.toml does not exist");
  }

  @Test
  void anInvalidKeyFile_isRefusedWithoutItsContent() throws IOException {
    for (String more : List.of(" and more\n", "\nand more", "ä")) {
      Files.writeString(dir.resolve("key"), SECRET + more);
      assertRefused(
          Map.of("SLUICE_AUTH_BOOTSTRAP_KEY_FILE", "key"),
          "auth.bootstrap_key_file key is invalid: a key must have");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          SLUICE_SERVER_GRPC_PORT | x | SLUICE_SERVER_GRPC_PORT must be a whole number from 0 to 65535, but was 'x'
          SLUICE_SERVER_HOST | `` | SLUICE_SERVER_HOST must be text
          SLUICE_SERVER_PRT | 1 | unknown environment variable 'SLUICE_SERVER_PRT'
          SLUICE_GRPC_PORT | 1 | unknown environment variable 'SLUICE_GRPC_PORT'
          SLUICE_BOOTSTRAP_KEYS | top-secret-word | unknown environment variable 'SLUICE_BOOTSTRAP_KEYS'
          REDIS_URL | top-secret-word | REDIS_URL is invalid: the Redis URL must be
          SLUICE_BOOTSTRAP_KEY | `` | SLUICE_BOOTSTRAP_KEY is invalid: a key must have
          SLUICE_AUTH_BOOTSTRAP_KEY | `top-secret-word ` | SLUICE_AUTH_BOOTSTRAP_KEY is invalid: a key must have
          """)
  void aBadVariable_isRefused(String name, String value, String message) {
    assertRefused(Map.of(name, value), message);
  }

  @Test
  void duplicateSetting_isRefused() {
    assertRefused(
        Map.of("SLUICE_BOOTSTRAP_KEY", SECRET, "SLUICE_AUTH_BOOTSTRAP_KEY", SECRET),
        "SLUICE_AUTH_BOOTSTRAP_KEY and SLUICE_BOOTSTRAP_KEY both set the same key; set one");
    assertRefused(
        Map.of("REDIS_URL", "redis://" + SECRET + "@a", "SLUICE_REDIS_URL", "redis://b"),
        "REDIS_URL and SLUICE_REDIS_URL both set the same key; set one");
  }

  @Test
  void aBadFlag_isRefused() {
    assertThatThrownBy(
            () -> ServerConfigLoader.read(dir, null, Map.of(), Map.of("--grpc-port", "70000")))
        .isInstanceOf(InvalidSettingsException.class)
        .hasMessage("--grpc-port must be a whole number from 0 to 65535, but was '70000'");
  }
}
