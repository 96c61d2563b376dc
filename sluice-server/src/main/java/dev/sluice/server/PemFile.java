package dev.sluice.server;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads certificates and keys; whatever is wrong is told with the file. */
final class PemFile {
  private static final Pattern PKCS8 =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");
  private static final List<String> KEY_KINDS = List.of("RSA", "EC", "EdDSA");

  private PemFile() {}

  static List<X509Certificate> certificates(String what, Path file) throws IOException {
    byte[] content = read(what, file);
    List<X509Certificate> found;
    try {
      found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(content))
              .stream()
              .map(X509Certificate.class::cast)
              .toList();
    } catch (CertificateException garbage) {
      throw wrong(what, file, "PEM certificates", garbage);
    }
    if (found.isEmpty()) {
      throw wrong(what, file, "PEM certificates", null);
    }
    return found;
  }

  static PrivateKey privateKey(String what, Path file) throws IOException {
    String content = new String(read(what, file), StandardCharsets.ISO_8859_1);
    Matcher pem = PKCS8.matcher(content);
    if (!pem.find()) {
      throw wrong(what, file, "an unencrypted PEM key in PKCS #8 (BEGIN PRIVATE KEY)", null);
    }
    PKCS8EncodedKeySpec encoded;
    try {
      encoded = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
    } catch (IllegalArgumentException garbage) {
      throw wrong(what, file, "base64", garbage);
    }
    for (String kind : KEY_KINDS) {
      try {
        return KeyFactory.getInstance(kind).generatePrivate(encoded);
      } catch (GeneralSecurityException otherKind) {
        // The next one may fit.
      }
    }
    throw wrong(what, file, "a key of RSA, EC or EdDSA", null);
  }

  /** Whether what {@code key} signs is what {@code certificate} vouches for. */
  static boolean belongTogether(PrivateKey key, X509Certificate certificate) {
    byte[] text = {1, 2, 3};
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> "EdDSA";
        };
    try {
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      signature.update(text);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      signature.update(text);
      return signature.verify(signed);
    } catch (GeneralSecurityException otherKind) {
      return false;
    }
  }

  private static byte[] read(String what, Path file) throws IOException {
    try {
      return Files.readAllBytes(file);
    } catch (NoSuchFileException missing) {
      throw new IOException("the %s does not exist: %s".formatted(what, file), missing);
    } catch (IOException unreadable) {
      throw new IOException("the %s cannot be read: %s".formatted(what, file), unreadable);
    }
  }

  private static IllegalArgumentException wrong(
      String what, Path file, String wanted, @Nullable Exception why) {
    return new IllegalArgumentException(
        "the %s must have %s: %s".formatted(what, wanted, file), why);
  }
}
