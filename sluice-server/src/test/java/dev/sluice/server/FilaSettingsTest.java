package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server that is started in fila's way. */
final class FilaSettingsTest {
  @TempDir private Path dir;

  private ServerConfigLoader read(Map<String, String> environment) {
    return ServerConfigLoader.read(dir, null, environment, Map.of());
  }

  /** The defaults with fila's settings: HTTP is off. */
  private ServerConfig defaults() {
    return ServerConfig.defaults(dir.resolve("data"))
        .withListen(ListenConfig.DEFAULTS.withHttpPort(ListenConfig.OFF));
  }

  private void writeFile(String toml) throws IOException {
    Files.writeString(dir.resolve("fila.toml"), toml);
  }

  @Test
  void settingsOfFila_areAccepted() throws IOException {
    writeFile(
        """
        [server]
        listen_addr = "0.0.0.0:5556"

        [auth]
        bootstrap_apikey = "from-file"

        [tls]
        cert_file = "c.pem"
        key_file = "k.pem"
        ca_file = "ca.pem"

        [telemetry]
        otlp_endpoint = "http://localhost:4317"
        service_name = "mine"
        metrics_interval_ms = 10000

        [scheduler]
        command_channel_capacity = 10000
        idle_timeout_ms = 100
        quantum = 1000

        [lua]
        default_timeout_ms = 10
        default_memory_limit_bytes = 1048576
        circuit_breaker_threshold = 3
        circuit_breaker_cooldown_ms = 10000

        [cluster]
        enabled = false
        node_id = 1
        peers = []
        """);
    ServerConfigLoader settings = read(Map.of());
    assertThat(settings.config())
        .isEqualTo(
            ServerConfig.defaults(dir.resolve("data"))
                .withListen(new ListenConfig("0.0.0.0", 5556, ListenConfig.OFF))
                .withBootstrapKey("from-file")
                .withTls(
                    new TlsConfig(
                        dir.resolve("c.pem"), dir.resolve("k.pem"), dir.resolve("ca.pem")))
                .withTelemetry(new TelemetryConfig(URI.create("http://localhost:4317"), "mine")));
    assertThat(settings.warnings()).hasSize(2);
    assertThat(settings.warnings().get(0))
        .contains(
            "fila.toml: keys without effect here: telemetry.metrics_interval_ms,"
                + " scheduler.command_channel_capacity, scheduler.idle_timeout_ms,"
                + " scheduler.quantum, lua.default_timeout_ms,",
            "cluster.enabled, cluster.node_id, cluster.peers");
    assertThat(settings.warnings().get(1)).contains("OTLP over HTTP");
  }

  @Test
  void withoutAnAddress_theServerListensOnLoopback() throws IOException {
    writeFile("");
    ServerConfigLoader settings = read(Map.of());
    assertThat(settings.config()).isEqualTo(defaults());
    assertThat(settings.warnings())
        .singleElement()
        .asString()
        .contains("no server.listen_addr; this is 127.0.0.1:5555 here, not 0.0.0.0:5555");
  }

  @Test
  void variablesOfFila_overrideItsFile_andVariablesOfSluiceOverrideBoth() throws IOException {
    writeFile("[auth]\nbootstrap_apikey = 'one'\n[server]\nlisten_addr = '[::1]:7'\n");
    Map<String, String> fila = Map.of("FILA_DATA_DIR", "there", "FILA_BOOTSTRAP_APIKEY", "two");
    ServerConfig config = read(fila).config();
    assertThat(config.dataDirectory()).isEqualTo(dir.resolve("there"));
    assertThat(config.listen()).isEqualTo(new ListenConfig("::1", 7, ListenConfig.OFF));
    assertThat(config.bootstrapKey()).isEqualTo(new Secret("two"));
    Map<String, String> both =
        Map.of(
            "FILA_DATA_DIR", "there",
            "SLUICE_SERVER_DATA_DIR", "here",
            "FILA_BOOTSTRAP_APIKEY", "two",
            "SLUICE_BOOTSTRAP_KEY", "three");
    assertThat(read(both).config().dataDirectory()).isEqualTo(dir.resolve("here"));
    assertThat(read(both).config().bootstrapKey()).isEqualTo(new Secret("three"));
  }

  @Test
  void variablesOfFila_sufficeWithoutAFile() {
    ServerConfig config = read(Map.of("FILA_BOOTSTRAP_APIKEY", "key")).config();
    assertThat(config).isEqualTo(defaults().withBootstrapKey("key"));
  }

  @Test
  void http_isOnOnlyIfItsPortIsSet() throws IOException {
    writeFile("[server]\nlisten_addr = '127.0.0.1:7'\n");
    assertThat(read(Map.of()).config().listen().hasHttp()).isFalse();
    assertThat(read(Map.of("SLUICE_SERVER_HTTP_PORT", "81")).config().listen().httpPort())
        .isEqualTo(81);
    assertThat(
            ServerConfigLoader.read(dir, null, Map.of(), Map.of("--http-port", "82"))
                .config()
                .listen()
                .httpPort())
        .isEqualTo(82);
  }

  @Test
  void unknownKeys_areWarnings() throws IOException {
    writeFile(
        """
        scheduler = 1
        "server.host" = "0.0.0.0"
        [server]
        listen_addr = "127.0.0.1:7"
        grpc_port = 1
        [gui]
        "a\\nb" = true
        [tls.later]
        x = 1
        """);
    ServerConfigLoader settings = read(Map.of());
    assertThat(settings.config())
        .isEqualTo(defaults().withListen(new ListenConfig("127.0.0.1", 7, ListenConfig.OFF)));
    assertThat(settings.warnings())
        .containsExactly(
            dir.resolve("fila.toml")
                + ": unknown keys without effect: 'scheduler', 'server.host', 'server.grpc_port',"
                + " 'gui.a?b', 'tls.later'; keys of Sluice belong in a sluice.toml");
  }

  @Test
  void unknownKeys_manyOrLong_areOneBoundedLine() throws IOException {
    StringBuilder toml = new StringBuilder("server.listen_addr = '127.0.0.1:7'\n[x]\n");
    for (int i = 0; i < 1_000; i++) {
      toml.append("k").append(i).append("o".repeat(500)).append(" = 1\n");
    }
    writeFile(toml.toString());
    assertThat(read(Map.of()).warnings())
        .singleElement()
        .asString()
        .contains("'x.k0ooo", "'x.k19ooo", " and 980 more; ")
        .doesNotContain("k20")
        .hasSizeLessThan(2_000);
  }

  @Test
  void settingsOfFila_withASluiceToml_haveNoEffect() throws IOException {
    writeFile("not even TOML");
    Files.writeString(dir.resolve("sluice.toml"), "");
    ServerConfigLoader settings = read(Map.of("FILA_DATA_DIR", "there"));
    assertThat(settings.config()).isEqualTo(ServerConfig.defaults(dir.resolve("sluice-data")));
    assertThat(settings.warnings())
        .containsExactly("FILA_DATA_DIR has no effect together with " + dir.resolve("sluice.toml"));
  }

  @Test
  void systemWideFile_isReadWithoutAnother() throws IOException {
    Path system = Files.writeString(dir.resolve("system"), "[server]\nlisten_addr = '127.0.0.1:9'");
    ServerConfig config = ServerConfigLoader.read(dir, null, system, Map.of(), Map.of()).config();
    assertThat(config.listen().grpcPort()).isEqualTo(9);
    assertThat(config.dataDirectory()).isEqualTo(dir.resolve("data"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          cluster.enabled = true | fila.toml: cluster.enabled must be false, because there is one node, but was 'true'
          cluster.enabled = "no" | fila.toml: cluster.enabled must be false, because there is one node
          server.binary_addr = "0.0.0.0:1" | fila.toml: server.binary_addr must not be set: fila's binary protocol is not spoken here
          server.listen_addr = 5555 | fila.toml: server.listen_addr must be an address and a port in quotes
          server.listen_addr = "localhost" | fila.toml: server.listen_addr must be an address and a port in quotes
          server.listen_addr = "127.0.0.1:70000" | fila.toml: server.listen_addr must be a whole number from 0 to 65535, but was '70000'
          auth.bootstrap_apikey = 17 | fila.toml: auth.bootstrap_apikey must be text in quotes
          tls.cert_file = "x" | tls.cert_file and tls.key_file must both be set for TLS: tls.key_file is missing
          nothing | fila.toml is not valid TOML, line 1
          """)
  void unsupportedSettingsOfFila_areRefused(String toml, String message) throws IOException {
    writeFile(toml);
    assertThatThrownBy(() -> read(Map.of()))
        .isInstanceOf(InvalidSettingsException.class)
        .satisfies(
            refused ->
                assertThat(String.valueOf(refused.getMessage()).replace(dir + "/", ""))
                    .startsWith(message));
  }
}
