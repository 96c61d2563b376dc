package dev.sluice.testkit.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** A certificate for 127.0.0.1 and localhost and its key, made by the JDK's keytool. */
final class SelfSigned {
  static final String CERTIFICATE = "server.pem";
  static final String KEY = "server.key";
  private static final String PASSWORD = "password";

  private SelfSigned() {}

  /** Writes both files. */
  static void write(Path dir) {
    Path store = dir.resolve("server.p12");
    try {
      keytool(store);
      KeyStore keys = KeyStore.getInstance("PKCS12");
      try (InputStream in = Files.newInputStream(store)) {
        keys.load(in, PASSWORD.toCharArray());
      }
      Key key = keys.getKey("server", PASSWORD.toCharArray());
      if (key == null) {
        throw new IllegalStateException("keytool wrote no key");
      }
      writePem(dir.resolve(KEY), "PRIVATE KEY", key.getEncoded());
      writePem(dir.resolve(CERTIFICATE), "CERTIFICATE", keys.getCertificate("server").getEncoded());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("no certificate: " + e.getMessage(), e);
    }
  }

  private static void keytool(Path store) throws IOException {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-J-XX:TieredStopAtLevel=1",
            "-genkeypair",
            "-alias",
            "server",
            "-keyalg",
            "EC",
            "-groupname",
            "secp256r1",
            "-dname",
            "CN=localhost",
            "-ext",
            "san=ip:127.0.0.1,dns:localhost",
            "-validity",
            "2",
            "-storetype",
            "PKCS12",
            "-storepass",
            PASSWORD,
            "-keystore",
            store.toString());
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int status = keytool.onExit().join().exitValue();
    if (status != 0) {
      throw new IllegalStateException("keytool ended with status " + status + ": " + said);
    }
  }

  private static void writePem(Path file, String kind, byte[] bytes) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(bytes);
    Files.writeString(
        file, "-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(kind, text, kind));
  }
}
