package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.redis.OutageMode;
import dev.sluice.server.config.Setting;
import dev.sluice.server.config.SettingsCatalog;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where settings come from, and which of them count. */
final class ServerSettingsTest {
  private static final String SECRET = "top-secret-word";

  /** A value for every key, none of them the default. */
  private static final String REDIS = "rediss://me:" + SECRET + "@redis.example:6380/1";

  private static final Map<String, String> SAMPLES =
      Map.ofEntries(
          Map.entry("server.data_dir", "some where"),
          Map.entry("server.host", "127.0.0.2"),
          Map.entry("server.grpc_port", "1"),
          Map.entry("server.http_port", "65535"),
          Map.entry("server.drain_timeout", "2m"),
          Map.entry("auth.bootstrap_key", SECRET),
          Map.entry("auth.bootstrap_key_file", "key.txt"),
          Map.entry("tls.cert_file", "cert.pem"),
          Map.entry("tls.key_file", "key.pem"),
          Map.entry("tls.client_ca_file", "ca.pem"),
          Map.entry("transport.max_connections", "3"),
          Map.entry("transport.max_streams_per_connection", "4"),
          Map.entry("transport.max_request_bytes", "5000"),
          Map.entry("transport.max_header_bytes", "6000"),
          Map.entry("telemetry.otlp_endpoint", "http://127.0.0.1:4318"),
          Map.entry("telemetry.service_name", "a \"name\" \\ 1"),
          Map.entry("broker.max_message_bytes", "7000"),
          Map.entry("broker.max_inbound_bytes", "1099511627776"),
          Map.entry("broker.disk_reserve_bytes", "0"),
          Map.entry("broker.sync_interval", "1ms"),
          Map.entry("broker.hook_threads", "9"),
          Map.entry("governor.file", "token-budget.json"),
          Map.entry("redis.url", REDIS),
          Map.entry("redis.ca_file", "redis.pem"),
          Map.entry("redis.prefix", "other:"),
          Map.entry("redis.timeout", "50ms"),
          Map.entry("redis.outage_mode", "closed"),
          Map.entry("redis.token_blocks", "on"),
          Map.entry("redis.expected_nodes", "3"),
          Map.entry("log.level", "error"),
          Map.entry("log.format", "json"));

  @TempDir private Path dir;

  private ServerConfig expected() {
    return new ServerConfig(
        dir.resolve("some where"),
        new ListenConfig("127.0.0.2", 1, 65_535),
        new Secret(SECRET),
        new TlsConfig(dir.resolve("cert.pem"), dir.resolve("key.pem"), dir.resolve("ca.pem")),
        new TransportConfig(3, 4, 5000, 6000, Duration.ofMinutes(2)),
        new TelemetryConfig(URI.create("http://127.0.0.1:4318"), "a \"name\" \\ 1"),
        BrokerConfig.builder()
            .maxMessageBytes(7000)
            .maxInboundBytes(1L << 40)
            .diskReserveBytes(0)
            .syncInterval(Duration.ofMillis(1))
            .hookThreads(9)
            .build(),
        dir.resolve("token-budget.json"),
        new RedisConfig(
            REDIS,
            dir.resolve("redis.pem"),
            "other:",
            Duration.ofMillis(50),
            OutageMode.CLOSED,
            true,
            3));
  }

  private ServerConfigLoader read(Map<String, String> environment, Map<String, String> flags) {
    Path file = dir.resolve("sluice.toml");
    return ServerConfigLoader.read(dir, Files.exists(file) ? file : null, null, environment, flags);
  }

  private void writeFile(String toml) throws IOException {
    Files.writeString(dir.resolve("sluice.toml"), toml);
  }

  /** Without one of the two ways to give the bootstrap key. */
  private static List<Setting<?>> allBut(Setting<?> other) {
    return SettingsCatalog.ALL.stream().filter(each -> !each.equals(other)).toList();
  }

  private static String sample(Setting<?> setting) {
    String sample = SAMPLES.get(setting.name());
    assertThat(sample).as(setting.name()).isNotNull().isNotEqualTo(setting.byDefault());
    return String.valueOf(sample);
  }

  private static String toml(List<Setting<?>> settings) {
    StringBuilder toml = new StringBuilder();
    for (Setting<?> setting : settings) {
      boolean number = setting.kind().form().name().startsWith("NUMBER");
      String quote = number ? "" : "'";
      toml.append(setting.name()).append(" = ").append(quote);
      toml.append(sample(setting)).append(quote).append('\n');
    }
    return toml.toString();
  }

  @Test
  void defaults_matchTheServer() {
    ServerConfigLoader settings = read(Map.of(), Map.of());
    assertThat(settings.config()).isEqualTo(ServerConfig.defaults(dir.resolve("sluice-data")));
    assertThat(settings.warnings()).isEmpty();
    assertThat(dir).isEmptyDirectory();
  }

  @Test
  void everyKey_canBeSetByTheFile() throws IOException {
    writeFile(toml(allBut(SettingsCatalog.BOOTSTRAP_KEY_FILE)));
    assertThat(read(Map.of(), Map.of()).config()).isEqualTo(expected());
    writeFile(toml(allBut(SettingsCatalog.BOOTSTRAP_KEY)));
    Files.writeString(dir.resolve("key.txt"), SECRET + "\n");
    assertThat(read(Map.of(), Map.of()).config()).isEqualTo(expected());
    assertThat(read(Map.of(), Map.of()).toToml()).contains("level = \"error\"", "= \"json\"");
  }

  @Test
  void everyKey_canBeSetByTheEnvironment() throws IOException {
    Map<String, String> environment =
        allBut(SettingsCatalog.BOOTSTRAP_KEY_FILE).stream()
            .collect(Collectors.toMap(Setting::variable, ServerSettingsTest::sample));
    assertThat(environment).containsKeys("SLUICE_SERVER_GRPC_PORT", "SLUICE_AUTH_BOOTSTRAP_KEY");
    assertThat(read(environment, Map.of()).config()).isEqualTo(expected());
    environment.remove("SLUICE_AUTH_BOOTSTRAP_KEY");
    environment.put("SLUICE_AUTH_BOOTSTRAP_KEY_FILE", "key.txt");
    Files.writeString(dir.resolve("key.txt"), SECRET);
    assertThat(read(environment, Map.of()).config()).isEqualTo(expected());
    assertThat(read(environment, Map.of()).toToml()).contains("level = \"error\"", "= \"json\"");
  }

  @Test
  void flags_setTheirKeys() {
    Map<String, String> flags = new LinkedHashMap<>();
    for (Setting<?> setting : SettingsCatalog.ALL) {
      String flag = setting.flag();
      if (flag != null) {
        flags.put(flag, sample(setting));
      }
    }
    assertThat(flags).containsOnlyKeys("--data", "--host", "--grpc-port", "--http-port");
    ServerConfig config = read(Map.of(), flags).config();
    assertThat(config)
        .isEqualTo(
            ServerConfig.defaults(dir.resolve("some where"))
                .withListen(new ListenConfig("127.0.0.2", 1, 65_535)));
  }

  @Test
  void httpPort_off_disablesHttp() throws IOException {
    assertThat(read(Map.of(), Map.of("--http-port", "off")).config().listen())
        .isEqualTo(new ListenConfig("127.0.0.1", 5555, ListenConfig.OFF));
    assertThat(read(Map.of("SLUICE_SERVER_HTTP_PORT", "OFF"), Map.of()).config().listen().hasHttp())
        .isFalse();
    writeFile("server.http_port = 'off'");
    ServerConfigLoader settings = read(Map.of(), Map.of());
    assertThat(settings.config().listen().hasHttp()).isFalse();
    assertThat(settings.toToml()).contains("\nhttp_port = \"off\"\n");
    writeFile(settings.toToml());
    assertThat(read(Map.of(), Map.of()).config()).isEqualTo(settings.config());
    for (String wrong : new String[] {"false", "'none'", "'80'", "8080.5"}) {
      writeFile("server.http_port = " + wrong);
      assertThatThrownBy(() -> read(Map.of(), Map.of()))
          .isInstanceOf(InvalidSettingsException.class)
          .hasMessageContaining("server.http_port must be a whole number, or \"off\" in quotes");
    }
    writeFile("");
    assertThatThrownBy(() -> read(Map.of(), Map.of("--http-port", "70000")))
        .hasMessage("--http-port must be a whole number from 0 to 65535, or off, but was '70000'");
  }

  @Test
  void flags_overrideTheEnvironment_andTheEnvironmentOverridesTheFile() throws IOException {
    writeFile("[server]\ngrpc_port = 1\nhttp_port = 2\ndata_dir = 'd'\n");
    ListenConfig listen =
        read(
                Map.of("SLUICE_SERVER_GRPC_PORT", "11", "SLUICE_SERVER_HTTP_PORT", "12"),
                Map.of("--grpc-port", "21"))
            .config()
            .listen();
    assertThat(listen).isEqualTo(new ListenConfig("127.0.0.1", 21, 12));
  }

  @Test
  void keyInTheEnvironment_overridesTheKeyFile() throws IOException {
    writeFile("[auth]\nbootstrap_key_file = 'not-there'\n");
    ServerConfig config = read(Map.of("SLUICE_BOOTSTRAP_KEY", SECRET), Map.of()).config();
    assertThat(config.bootstrapKey()).isEqualTo(new Secret(SECRET));
    assertThatThrownBy(() -> read(Map.of(), Map.of()))
        .isInstanceOf(InvalidSettingsException.class)
        .hasMessage("auth.bootstrap_key_file not-there does not exist");
  }

  @Test
  void fileInTheWorkingDirectory_isRead_unlessAnotherIsNamed() throws IOException {
    writeFile("[server]\ngrpc_port = 1\n");
    Path other = Files.writeString(dir.resolve("other.toml"), "[server]\ngrpc_port = 2\n");
    assertThat(ServerConfigLoader.read(dir, null, Map.of(), Map.of()).config().listen().grpcPort())
        .isEqualTo(1);
    assertThat(ServerConfigLoader.read(dir, other, Map.of(), Map.of()).config().listen().grpcPort())
        .isEqualTo(2);
    assertThatThrownBy(() -> ServerConfigLoader.read(dir, Path.of("no.toml"), Map.of(), Map.of()))
        .isInstanceOf(InvalidSettingsException.class)
        .hasMessage("no.toml does not exist");
  }

  @Test
  void printedSettings_canBeReadAgain() throws IOException {
    String defaults = read(Map.of(), Map.of()).toToml();
    writeFile(defaults);
    assertThat(read(Map.of(), Map.of()).toToml()).isEqualTo(defaults);
    writeFile(toml(allBut(SettingsCatalog.BOOTSTRAP_KEY_FILE)));
    String printed = read(Map.of(), Map.of()).toToml();
    writeFile(printed);
    Map<String, String> secrets = Map.of("SLUICE_BOOTSTRAP_KEY", SECRET, "REDIS_URL", REDIS);
    assertThat(read(secrets, Map.of()).config()).isEqualTo(expected());
  }

  @Test
  void printedSettings_canBeFilledIn() throws IOException {
    String defaults = read(Map.of(), Map.of()).toToml();
    writeFile(defaults.replace("# bootstrap_key = \"\"", "bootstrap_key = \"" + SECRET + '"'));
    assertThat(read(Map.of(), Map.of()).toToml()).contains("# bootstrap_key is set and not shown");
    writeFile(defaults.replace("# bootstrap_key = ", "bootstrap_key = "));
    assertThatThrownBy(() -> read(Map.of(), Map.of()))
        .isInstanceOf(InvalidSettingsException.class)
        .hasMessageContaining("bootstrap_key");
  }

  @Test
  void secrets_areNotPrinted() throws IOException {
    writeFile(toml(allBut(SettingsCatalog.BOOTSTRAP_KEY_FILE)));
    ServerConfigLoader settings = read(Map.of(), Map.of());
    assertThat(settings.toToml())
        .contains("# bootstrap_key is set and not shown", "# url is set and not shown")
        .doesNotContain(SECRET);
    assertThat(settings.config().toString()).contains("***").doesNotContain(SECRET);
  }

  @ParameterizedTest
  @ValueSource(strings = {"REDIS_URL", "SLUICE_REDIS_URL"})
  void redis_isConfigured_ifItsVariableIsSet(String variable) throws IOException {
    assertThat(read(Map.of(variable, REDIS), Map.of()).config().redis())
        .isEqualTo(RedisConfig.at(REDIS));
    writeFile("[redis]\nurl = 'redis://elsewhere'\n");
    for (String none : List.of("", " ", "${REDIS_URL}")) {
      ServerConfigLoader settings = read(Map.of(variable, none), Map.of());
      assertThat(settings.config().redis()).as(none).isNull();
      assertThat(settings.toToml()).contains("# url = \"\"");
    }
    assertThat(read(Map.of(), Map.of()).config().redis())
        .isEqualTo(RedisConfig.at("redis://elsewhere"));
  }

  @Test
  void variablesOfOthers_areLeftAlone() {
    Map<String, String> environment =
        Map.of(
            "SLUICE_LTS_HOME", "x",
            "SLUICE_JAVA_FLAGS", "-Xmx1g",
            "SLUICE_API_KEY", "x",
            "SLUICE_SERVICE_HOST", "10.0.0.1",
            "SLUICE_SERVICE_PORT_GRPC", "5555",
            "SLUICE_PORT", "tcp://10.0.0.1:5555",
            "SLUICE_PORT_5555_TCP_ADDR", "10.0.0.1",
            "SLUICE_SERVER_PORT", "tcp://10.0.0.1:5555",
            "SLUICE", "x",
            "PATH", "/bin");
    assertThat(read(environment, Map.of()).config())
        .isEqualTo(ServerConfig.defaults(dir.resolve("sluice-data")));
  }

  @Test
  void documentedTable_matchesTheCode() throws IOException {
    List<String> documented =
        Files.readString(Path.of("..", "docs", "operations.md"))
            .lines()
            .filter(line -> line.matches("\\| `[a-z]+\\.[a-z_]+` \\|.*"))
            .toList();
    assertThat(documented)
        .containsExactlyElementsOf(
            SettingsCatalog.ALL.stream().map(ServerSettingsTest::row).toList());
  }

  private static String row(Setting<?> setting) {
    String flag = setting.flag();
    String byDefault = setting.byDefault();
    return "| `%s` | %s | %s | %s%s |"
        .formatted(
            setting.name(),
            setting.kind().description(),
            byDefault == null ? "none" : "`" + byDefault + "`",
            setting.effect(),
            flag == null ? "" : " Flag `" + flag + "`.");
  }
}
