package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.BuildVersion;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys, and how a server is reached. */
final class ApiKeyCommandsTest {
  private static final String BOOTSTRAP = "bootstrap-for-tests";

  @TempDir static Path dir;
  private static CliServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new CliServer(dir.resolve("data"), BOOTSTRAP);
    server.ok("queue", "create", "mail");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void apiKeys_createListShowAllowRevoke() {
    Map<String, Object> created =
        server
            .json(
                "api-key",
                "create",
                "billing",
                "--allow",
                "produce:mail",
                "--expires",
                "1h",
                "--json")
            .get(0);
    String id = (String) created.get("id");
    String key = (String) created.get("secret");
    Map<String, Object> shown = server.json("api-key", "show", id, "--json").get(0);
    assertThat(shown)
        .containsOnlyKeys(
            "id", "name", "created_at_ms", "expires_at_ms", "superadmin", "permissions")
        .containsEntry("name", "billing")
        .containsEntry("superadmin", false)
        .containsEntry("permissions", List.of(Map.of("kind", "produce", "pattern", "mail")));
    assertThat((Long) shown.get("expires_at_ms") - (Long) shown.get("created_at_ms"))
        .isBetween(3_590_000L, 3_610_000L);
    assertThat(server.ok("api-key", "list"))
        .contains("billing", "produce:mail")
        .doesNotContain(key);

    assertThat(server.ok("message", "send", "mail", "x", "--api-key", key)).isNotBlank();
    for (String list : List.of("queue", "limit", "throttle")) {
      assertThat(server.fails(1, list, "list", "--api-key", key))
          .contains("the API key does not allow this; it needs read on any name");
    }
    assertThat(server.ok("api-key", "whoami", "--api-key", key))
        .matches("name     billing\nexpires  \\S+\nallows   produce:mail\n");
    assertThat(server.ok("api-key", "allow", id, "consume:mail", "limit:*"))
        .isEqualTo("updated " + id + "\n");
    assertThat(server.fails(1, "message", "send", "mail", "x", "--api-key", key))
        .contains("produce");
    assertThat(server.ok("api-key", "show", id)).contains("allows   consume:mail limit:*\n");

    assertThat(server.fails(2, "api-key", "revoke", id))
        .contains("confirmation needs a terminal or --yes");
    assertThat(server.ok("api-key", "revoke", id, "--yes")).isEqualTo("revoked " + id + "\n");
    assertThat(server.fails(1, "message", "receive", "mail", "--api-key", key))
        .startsWith("sluice message receive: the server rejects this API key: ");
    assertThat(server.fails(1, "api-key", "show", id)).contains(id);
  }

  @Test
  void readPermission_doesNotAllowChanges() {
    String reader =
        (String)
            server
                .json("api-key", "create", "r", "--allow", "read:*", "--json")
                .get(0)
                .get("secret");
    assertThat(server.ok("queue", "list", "--api-key", reader)).contains("mail", "mail.dlq");
    assertThat(server.ok("queue", "stats", "mail", "--api-key", reader)).isNotBlank();
    assertThat(server.ok("message", "browse", "mail", "--json", "--api-key", reader)).isNotNull();
    assertThat(server.fails(1, "queue", "purge", "mail", "--yes", "--api-key", reader))
        .contains("the API key does not allow this; it needs admin on mail");
    assertThat(server.json("api-key", "whoami", "--json", "--api-key", reader).get(0))
        .containsEntry("permissions", List.of(Map.of("kind", "read", "pattern", "*")));
    assertThat(server.json("api-key", "whoami", "--json").get(0))
        .containsEntry("name", "bootstrap")
        .containsEntry("superadmin", true);
  }

  @Test
  void queueList_withoutReadPermission_namesThePermission() {
    String producer =
        (String)
            server
                .json("api-key", "create", "p", "--allow", "produce:mail", "--json")
                .get(0)
                .get("secret");
    assertThat(server.fails(1, "queue", "list", "--api-key", producer))
        .isEqualTo(
            "sluice queue list: the API key does not allow this; it needs read on any name\n");
  }

  @Test
  void create_printsIdAndSecret() {
    assertThat(server.ok("api-key", "create", "root", "--superadmin"))
        .matches("id      \\S+\nsecret  \\S+\n");
    assertThat(server.fails(2, "api-key", "create", "x", "--allow", "admin"))
        .contains(
            "a permission must be KIND:PATTERN, such as produce:mail or admin:*, but was 'admin'");
    assertThat(server.fails(1, "api-key", "create", "x", "--allow", "fly:*")).contains("fly");
  }

  @Test
  void missingKey_namesItsOptions() {
    Cli cli = Cli.run("queue", "list", "--server", server.address());
    assertThat(cli.exitCode()).isEqualTo(1);
    assertThat(cli.err())
        .isEqualTo(
            "sluice queue list: the server requires an API key: --api-key, --api-key-file or"
                + " SLUICE_API_KEY\n");
  }

  @Test
  void keyFile_isRead() throws Exception {
    Path file = Files.writeString(dir.resolve("key"), BOOTSTRAP + "\n");
    Cli cli =
        Cli.run("queue", "list", "--server", server.address(), "--api-key-file", file.toString());
    assertThat(cli.exitCode()).as(cli.err()).isZero();
    assertThat(server.fails(2, "queue", "list", "--api-key-file", "/none"))
        .contains("cannot read '/none': no such file");
    assertThat(server.fails(2, "queue", "list", "--api-key", "schlüssel"))
        .contains("API key must have 1 or more visible ASCII characters without spaces")
        .doesNotContain("schlüssel");
    assertThat(server.fails(2, "queue", "list", "--api-key-file", "/none", "--api-key", "k"))
        .contains("--api-key and --api-key-file cannot be combined");
  }

  @Test
  void version_ofServer() {
    Cli cli = server.run("version", "--server", server.address());
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).contains("\nserver " + BuildVersion.number() + ", since ");
    Map<String, Object> json = server.run("version", "--server", server.address(), "--json").json();
    assertThat(json).containsOnlyKeys("version", "java", "os", "server");
    assertThat((Map<?, ?>) json.get("server")).hasSize(2);
  }

  @Test
  void unreachableServer_namesAddressAndServeCommand() throws Exception {
    String gone;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      gone = "127.0.0.1:" + socket.getLocalPort();
    }
    for (String command :
        List.of(
            "queue list", "message send q --lines", "message receive q --ack --follow", "top")) {
      Cli cli = Cli.run((command + " --server " + gone).split(" "));
      assertThat(cli.exitCode()).isEqualTo(4);
      assertThat(cli.err())
          .contains("cannot reach a server at " + gone + ": Connection refused; ")
          .endsWith("./sluice serve starts a server\n");
    }
    assertThat(Cli.run("version", "--server", gone).exitCode()).isEqualTo(4);
  }

  @Test
  void httpPort_isReportedAsWrongPort() {
    String http = "127.0.0.1:" + server.httpPort();
    assertThat(server.fails(4, "queue", "list", "--server", http))
        .isEqualTo(
            "sluice queue list: %s does not speak gRPC: --server takes the gRPC port, not the HTTP port\n"
                .formatted(http));
  }

  @Test
  void silentServer_timesOut() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Cli cli =
          Cli.run(
              "queue",
              "list",
              "--timeout",
              "100ms",
              "--server",
              "127.0.0.1:" + silent.getLocalPort());
      assertThat(cli.exitCode()).isEqualTo(4);
      assertThat(cli.err()).contains("no response in time");
    }
  }

  @Test
  void badAddressAndTlsOptions_areWrongUsage() {
    assertThat(server.fails(2, "queue", "list", "--server", "nowhere"))
        .contains("--server must be HOST:PORT with a port from 1 to 65535, but was 'nowhere'");
    assertThat(server.fails(2, "queue", "list", "--server", "a:70000")).contains("'a:70000'");
    Cli variable =
        Cli.run(new Cli.Setting().environment(Map.of("SLUICE_ADDRESS", ":1")), "queue", "list");
    assertThat(variable.err()).contains("SLUICE_ADDRESS must be HOST:PORT");
    assertThat(server.fails(2, "queue", "list", "--tls-cert", "c"))
        .contains("--tls-cert and --tls-key require each other");
    assertThat(server.fails(2, "queue", "list", "--tls-ca", "/none")).contains("/none");
    assertThat(server.fails(2, "queue", "list", "--timeout", "0s"))
        .contains("a period must be positive, but was '0s'");
  }

  @Test
  void tls_serverWithoutTls_isUnreachable() {
    assertThat(server.fails(4, "queue", "list", "--tls")).contains(server.address());
  }
}
