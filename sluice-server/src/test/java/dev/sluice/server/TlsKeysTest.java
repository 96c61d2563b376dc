package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proto.internal.PemFile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.PrivateKey;
import java.util.Arrays;
import java.util.Base64;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Private keys in the encodings that openssl writes. */
@Timeout(60)
final class TlsKeysTest {
  @TempDir private static Path made;
  @TempDir private Path dir;
  private OpenSsl openssl;

  /** Once for all tests, because generating an RSA key takes a while. */
  @BeforeAll
  static void make() throws Exception {
    OpenSsl openssl = new OpenSsl(made);
    openssl.run("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out RSA");
    openssl.run("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out EC");
  }

  @BeforeEach
  void open() throws IOException {
    openssl = new OpenSsl(dir);
    for (String key : new String[] {"RSA", "EC"}) {
      Files.copy(made.resolve(key), dir.resolve(key));
    }
  }

  private SluiceServer start(Path certificate, Path key) throws IOException {
    return SluiceServer.start(
        ServerConfig.defaults(dir.resolve("data"))
            .withListen(ListenConfig.ANYWHERE)
            .withTls(new TlsConfig(certificate, key, null)));
  }

  private void assertServes(Path key) throws Exception {
    Path certificate = openssl.certificate(key, "certificate.pem");
    try (SluiceServer server = start(certificate, key)) {
      TlsProbe probe = TlsProbe.of(certificate, null);
      assertThat(probe.shown(server.grpcPort())).isEqualTo(TlsProbe.certificate(certificate));
      assertThat(probe.shown(server.httpPort())).isEqualTo(TlsProbe.certificate(certificate));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          PRIVATE KEY     ; openssl pkey -in RSA -out key
          RSA PRIVATE KEY ; openssl pkey -in RSA -traditional -out key
          PRIVATE KEY     ; openssl pkey -in EC -out key
          EC PRIVATE KEY  ; openssl pkey -in EC -traditional -out key
          EC PRIVATE KEY  ; openssl ecparam -name secp384r1 -genkey -noout -out key
          EC PRIVATE KEY  ; openssl ecparam -name secp521r1 -genkey -noout -out key
          EC PARAMETERS   ; openssl ecparam -name prime256v1 -genkey -out key
          """)
  void server_keyOfAnyEncoding_serves(String begin, String command) throws Exception {
    openssl.run(command);
    Path key = dir.resolve("key");
    assertThat(Files.readString(key)).startsWith("-----BEGIN " + begin + "-----\n");
    assertServes(key);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "openssl pkey -in %s -aes256 -passout 'pass:%s' -out '%s'",
        "openssl pkey -in %s -traditional -aes256 -passout 'pass:%s' -out '%s'"
      })
  void server_encryptedKey_namesTheCommandThatDecryptsIt(String command) throws Exception {
    for (String kind : new String[] {"RSA", "EC"}) {
      Path encrypted = Files.createDirectories(dir.resolve("it is a place")).resolve("o$k.pem");
      openssl.run(command.formatted(kind, OpenSsl.PASSPHRASE, encrypted));
      String content = Files.readString(encrypted);
      assertThat(content).contains("ENCRYPTED");
      Path certificate = openssl.certificate(dir.resolve(kind), "certificate.pem");

      Throwable refused = ThrowableAssert.catchThrowable(() -> start(certificate, encrypted));

      assertThat(refused)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith(
              "the tls key must not be encrypted, because Sluice asks for no passphrase: "
                  + encrypted
                  + "; decrypt it with: openssl pkey -in '");
      assertShowsNothing(refused, content);
      String decrypt = String.valueOf(refused.getMessage()).split("decrypt it with: ", 2)[1];
      openssl.run(decrypt + " -passin 'pass:%s'".formatted(OpenSsl.PASSPHRASE));
      Path decrypted = encrypted.resolveSibling("o$k.pem.decrypted");
      try (SluiceServer server = start(certificate, decrypted)) {
        assertThat(TlsProbe.of(certificate, null).shown(server.grpcPort()))
            .isEqualTo(TlsProbe.certificate(certificate));
      }
    }
  }

  /** Checks that the stack trace has no part of the key. */
  private static void assertShowsNothing(Throwable refused, String content) {
    StringWriter trace = new StringWriter();
    refused.printStackTrace(new PrintWriter(trace));
    content
        .lines()
        .filter(line -> !line.startsWith("-----") && line.length() >= 16)
        .forEach(line -> assertThat(trace.toString()).doesNotContain(line.substring(0, 16)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          OPENSSH PRIVATE KEY | an unencrypted PEM key in PKCS #8 (BEGIN PRIVATE KEY), PKCS #1 (BEGIN RSA PRIVATE KEY) or SEC1 (BEGIN EC PRIVATE KEY)
          PUBLIC KEY          | an unencrypted PEM key in PKCS #8
          PRIVATE KEY         | a key of RSA or EC
          RSA PRIVATE KEY     | an RSA key in PKCS #1
          EC PRIVATE KEY      | an EC key in SEC1, of a named curve such as P-256
          """)
  void otherContent_isRefused_withTheEncodingThatIsExpected(String label, String wanted)
      throws Exception {
    Path file = dir.resolve("key");
    write(file, label, new byte[] {0x30, 3, 2, 1, 1});
    assertThatThrownBy(() -> PemFile.privateKey("tls key", file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("the tls key must have " + wanted)
        .hasMessageEndingWith(": " + file);
  }

  /** HTTP would serve it and gRPC would not. */
  @Test
  void keyThatGrpcDoesNotUse_isRefused() throws Exception {
    openssl.run("openssl genpkey -algorithm ed25519 -out key");
    Path key = dir.resolve("key");
    Path certificate = openssl.certificate(key, "certificate.pem");
    assertThatThrownBy(() -> start(certificate, key))
        .hasMessage("the tls key must have a key of RSA or EC: " + key);
  }

  @Test
  void explicitCurveParameters_areRefused() throws Exception {
    openssl.run("openssl ecparam -name prime256v1 -param_enc explicit -genkey -noout -out key");
    assertThatThrownBy(() -> PemFile.privateKey("tls key", dir.resolve("key")))
        .hasMessageContaining("of a named curve");
  }

  @Test
  void fileThatIsTooLarge_isRefusedUnread() throws Exception {
    Path file = Files.write(dir.resolve("key"), new byte[(1 << 20) + 1]);
    assertThatThrownBy(() -> PemFile.privateKey("tls key", file))
        .hasMessage("the tls key must have at most 1048576 bytes: " + file);
    assertThatThrownBy(() -> PemFile.certificates("tls certificate", file))
        .hasMessageContaining("at most 1048576 bytes");
  }

  /** Any bytes give either a key or an error of one sentence. */
  @ParameterizedTest
  @ValueSource(strings = {"RSA", "EC"})
  void damagedKey_isRefusedInOneSentence(String kind) throws Exception {
    openssl.run("openssl pkey -in %s -traditional -outform DER -out der".formatted(kind));
    byte[] whole = Files.readAllBytes(dir.resolve("der"));
    Path file = dir.resolve("key");
    for (int length = 0; length < whole.length; length += kind.equals("RSA") ? 17 : 1) {
      write(file, kind + " PRIVATE KEY", Arrays.copyOf(whole, length));
      assertThatThrownBy(() -> PemFile.privateKey("tls key", file))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("the tls key must have an " + kind + " key in ");
    }
    Random random = new Random(1);
    for (int i = 0; i < 300; i++) {
      byte[] damaged = whole.clone();
      damaged[random.nextInt(Math.min(damaged.length, 64))] = (byte) random.nextInt();
      write(file, kind + " PRIVATE KEY", damaged);
      try {
        PrivateKey key = PemFile.privateKey("tls key", file);
        assertThat(key.getAlgorithm()).isEqualTo(kind);
      } catch (IllegalArgumentException refused) {
        assertThat(refused).hasMessageStartingWith("the tls key must have an " + kind);
      }
    }
  }

  private static void write(Path file, String label, byte[] bytes) throws IOException {
    Path next = file.resolveSibling("next");
    Files.writeString(
        next,
        "-----BEGIN %s-----\n%s\n-----END %s-----\n"
            .formatted(label, Base64.getMimeEncoder().encodeToString(bytes), label));
    Files.move(next, file, StandardCopyOption.REPLACE_EXISTING);
  }
}
