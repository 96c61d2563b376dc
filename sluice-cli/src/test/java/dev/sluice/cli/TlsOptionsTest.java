package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.TlsConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command line over TLS, against a real server. */
@Timeout(60)
final class TlsOptionsTest {
  private static final String PASSWORD = "changeit";

  @TempDir private static Path files;
  @TempDir private Path dir;

  @BeforeAll
  static void makeCertificates() throws Exception {
    makeCertificate("server");
    makeCertificate("client");
  }

  private static void makeCertificate(String name) throws Exception {
    Path store = files.resolve(name + ".p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    String options =
        "-genkeypair -alias %s -keyalg EC -dname CN=%s -ext san=ip:127.0.0.1 -storetype PKCS12"
            .formatted(name, name);
    List<String> command = new ArrayList<>();
    command.add(keytool.toString());
    command.addAll(List.of(options.split(" ", -1)));
    command.addAll(List.of("-keystore", store.toString(), "-storepass", PASSWORD));
    Process made = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(made.waitFor()).as(said).isZero();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    writePem(certificate(name), "CERTIFICATE", keys.getCertificate(name).getEncoded());
    writePem(key(name), "PRIVATE KEY", keys.getKey(name, PASSWORD.toCharArray()).getEncoded());
  }

  private static void writePem(Path file, String kind, byte[] bytes) throws IOException {
    Files.writeString(
        file,
        "-----BEGIN %s-----%n%s%n-----END %s-----%n"
            .formatted(kind, Base64.getMimeEncoder().encodeToString(bytes), kind));
  }

  private static Path certificate(String name) {
    return files.resolve(name + ".pem");
  }

  private static Path key(String name) {
    return files.resolve(name + ".key");
  }

  private SluiceServer start(@Nullable Path clientCa) throws IOException {
    return SluiceServer.start(
        ServerConfig.defaults(dir)
            .withListen(ListenConfig.ANYWHERE)
            .withTls(new TlsConfig(certificate("server"), key("server"), clientCa)));
  }

  /** {@code queue list} with these options. */
  private static Cli list(SluiceServer server, String... options) {
    List<String> arguments = new ArrayList<>(List.of("queue", "list", "--timeout", "5s"));
    arguments.add("--server=127.0.0.1:" + server.grpcPort());
    arguments.addAll(List.of(options));
    return Cli.run(arguments.toArray(String[]::new));
  }

  private static void assertShutOut(Cli cli, SluiceServer server) {
    assertThat(cli.exitCode()).as(cli.err()).isEqualTo(ExitCodes.UNREACHABLE);
    assertThat(cli.out()).isEmpty();
    assertThat(cli.err())
        .startsWith("sluice queue list: ")
        .contains("127.0.0.1:" + server.grpcPort())
        .contains("--tls-ca");
    assertThat(cli.err().lines()).hasSize(1);
  }

  @Test
  void tls_needsTheRightAuthority() throws Exception {
    try (SluiceServer server = start(null)) {
      Cli trusted = list(server, "--tls-ca", certificate("server").toString());
      assertThat(trusted.exitCode()).as(trusted.err()).isZero();
      assertThat(trusted.err()).isEmpty();
      assertShutOut(list(server, "--tls-ca", certificate("client").toString()), server);
      assertShutOut(list(server, "--tls"), server);
      assertShutOut(list(server), server);
    }
  }

  @Test
  void mutualTls_takesKeysInTheEncodingsOfTheServer() throws Exception {
    openssl("openssl genrsa -traditional -out rsa.key 2048");
    openssl("openssl ecparam -name prime256v1 -genkey -out ec.key");
    openssl("openssl genpkey -algorithm ed25519 -out ed.key");
    for (String name : List.of("rsa", "ec", "ed")) {
      openssl("openssl req -x509 -key %s.key -days 1 -subj /CN=%s -out %s.pem".replace("%s", name));
    }
    openssl("openssl pkey -in rsa.key -aes256 -passout pass:x -out encrypted.key");
    openssl("cat rsa.pem ec.pem > authorities.pem");
    String ca = "--tls-ca=" + certificate("server");
    try (SluiceServer server = start(certificate("authorities"))) {
      for (String name : List.of("rsa", "ec")) {
        Cli known = list(server, ca, "--tls-cert=" + certificate(name), "--tls-key=" + key(name));
        assertThat(known.exitCode()).as(known.err()).isZero();
      }
      assertRefused(server, "rsa", "encrypted", "the tls key must not be encrypted");
      assertRefused(server, "ed", "ed", "the tls key must have a key of RSA or EC");
      assertRefused(server, "rsa", "ec", "the tls key must be that of the tls certificate");
      assertRefused(server, "rsa", "absent", "the tls key does not exist");
    }
  }

  private static void assertRefused(
      SluiceServer server, String certificate, String key, String why) {
    Cli refused =
        list(
            server,
            "--tls-ca=" + certificate("server"),
            "--tls-cert=" + certificate(certificate),
            "--tls-key=" + key(key));
    assertThat(refused.exitCode()).isEqualTo(2);
    assertThat(refused.err()).contains(why);
    assertThat(refused.err().lines()).hasSize(1);
  }

  private static void openssl(String commandLine) throws Exception {
    Process process =
        new ProcessBuilder("sh", "-c", commandLine)
            .directory(files.toFile())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
  }

  @Test
  void mutualTls_needsACertificateOfTheCaller() throws Exception {
    String ca = certificate("server").toString();
    try (SluiceServer server = start(certificate("client"))) {
      Cli known =
          list(
              server,
              "--tls-ca=" + ca,
              "--tls-cert=" + certificate("client"),
              "--tls-key=" + key("client"));
      assertThat(known.exitCode()).as(known.err()).isZero();
      assertShutOut(list(server, "--tls-ca=" + ca), server);
      assertShutOut(
          list(
              server,
              "--tls-ca=" + ca,
              "--tls-cert=" + certificate("server"),
              "--tls-key=" + key("server")),
          server);
    }
  }

  @Test
  void badFiles_areNamed() throws Exception {
    try (SluiceServer server = start(null)) {
      Cli missing = list(server, "--tls-ca=" + files.resolve("missing.pem"));
      assertThat(missing.exitCode()).isEqualTo(ExitCodes.USAGE);
      assertThat(missing.err())
          .startsWith("sluice queue list: files of TLS must be readable: ")
          .contains("missing.pem (No such file")
          .hasLineCount(1);
      Cli half = list(server, "--tls-cert=" + certificate("client"));
      assertThat(half.exitCode()).isEqualTo(ExitCodes.USAGE);
      assertThat(half.err()).contains("--tls-cert and --tls-key require each other");
    }
  }
}
