package dev.sluice.proto.internal;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
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

/** Reads certificates and private keys; failures name the file and never show what is in it. */
public final class PemFile {
  /** A larger file is a mistake, such as the path of another file. */
  private static final int MAX_BYTES = 1 << 20;

  /** The words before {@code PRIVATE KEY} say how the key is encoded. */
  private static final Pattern KEY =
      Pattern.compile(
          "-----BEGIN ((?:[A-Z0-9]{1,20} ){0,2})PRIVATE KEY-----(.*?)-----END \\1PRIVATE KEY-----",
          Pattern.DOTALL);

  /** A header, which base64 cannot contain: the older way to say that a key is encrypted. */
  private static final String HEADER = "Proc-Type:";

  /** A path that needs no quotes in a shell. */
  private static final Pattern PLAIN_PATH = Pattern.compile("[\\w@%+=:,./-]+");

  private static final String ENCODINGS =
      "an unencrypted PEM key in PKCS #8 (BEGIN PRIVATE KEY), PKCS #1 (BEGIN RSA PRIVATE KEY) or"
          + " SEC1 (BEGIN EC PRIVATE KEY)";

  private PemFile() {}

  /**
   * Reads PEM certificates.
   *
   * @param what for messages, such as {@code tls certificate}
   * @param file where they are
   * @return at least one
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if it holds something else
   */
  public static List<X509Certificate> certificates(String what, Path file) throws IOException {
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

  /**
   * Reads an unencrypted private key of RSA or EC. Keys of EdDSA are refused, because the TLS of
   * gRPC does not use them.
   *
   * @param what for messages, such as {@code tls key}
   * @param file where it is
   * @return the key
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if it holds something else
   */
  public static PrivateKey privateKey(String what, Path file) throws IOException {
    String content = new String(read(what, file), StandardCharsets.ISO_8859_1);
    Matcher pem = KEY.matcher(content);
    if (!pem.find()) {
      throw wrong(what, file, ENCODINGS, null);
    }
    String encoding = pem.group(1).strip();
    String body = pem.group(2);
    if (encoding.equals("ENCRYPTED") || body.contains(HEADER)) {
      throw encrypted(what, file);
    }
    PrivateKey key = decode(encoding, body);
    if (key == null) {
      throw wrong(
          what,
          file,
          switch (encoding) {
            case "" -> "a key of RSA or EC";
            case "RSA" -> "an RSA key in PKCS #1";
            case "EC" -> "an EC key in SEC1, of a named curve such as P-256";
            default -> ENCODINGS;
          },
          null);
    }
    return key;
  }

  /** Returns null if this is no such key. The cause is dropped, because it might show the key. */
  private static @Nullable PrivateKey decode(String encoding, String base64) {
    try {
      byte[] bytes = Base64.getMimeDecoder().decode(base64);
      return switch (encoding) {
        case "" -> key(bytes, "RSA", "EC");
        case "RSA" -> key(Pkcs8.ofPkcs1(bytes), "RSA");
        case "EC" -> key(Pkcs8.ofSec1(bytes), "EC");
        default -> null;
      };
    } catch (IllegalArgumentException malformed) {
      return null;
    }
  }

  /** Returns the key if it is of one of these kinds. */
  private static @Nullable PrivateKey key(byte[] pkcs8, String... kinds) {
    PKCS8EncodedKeySpec encoded = new PKCS8EncodedKeySpec(pkcs8);
    for (String kind : kinds) {
      try {
        return KeyFactory.getInstance(kind).generatePrivate(encoded);
      } catch (GeneralSecurityException otherKind) {
        // The next one may fit.
      }
    }
    return null;
  }

  private static IllegalArgumentException encrypted(String what, Path file) {
    return new IllegalArgumentException(
        "the %s must not be encrypted, because Sluice asks for no passphrase: %s; decrypt it with: openssl pkey -in %s -out %s"
            .formatted(what, file, quoted(file.toString()), quoted(file + ".decrypted")));
  }

  /** Returns {@code path} quoted for a shell, if necessary. */
  private static String quoted(String path) {
    return PLAIN_PATH.matcher(path).matches() ? path : "'" + path.replace("'", "'\\''") + "'";
  }

  /**
   * Returns whether {@code certificate} vouches for what {@code key} signs.
   *
   * @param key a private key
   * @param certificate a certificate
   * @return whether they belong together
   */
  public static boolean belongTogether(PrivateKey key, X509Certificate certificate) {
    byte[] text = {1, 2, 3};
    String algorithm = key.getAlgorithm().equals("RSA") ? "SHA256withRSA" : "SHA256withECDSA";
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

  /**
   * Returns the bytes of a file that is not too large.
   *
   * @param what for messages
   * @param file where they are
   * @return at most 1 MiB
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if it is too large
   */
  public static byte[] read(String what, Path file) throws IOException {
    byte[] bytes;
    try (InputStream input = Files.newInputStream(file)) {
      bytes = input.readNBytes(MAX_BYTES + 1);
    } catch (NoSuchFileException missing) {
      throw new IOException("the %s does not exist: %s".formatted(what, file), missing);
    } catch (IOException unreadable) {
      throw new IOException("the %s cannot be read: %s".formatted(what, file), unreadable);
    }
    if (bytes.length > MAX_BYTES) {
      throw wrong(what, file, "at most " + MAX_BYTES + " bytes", null);
    }
    return bytes;
  }

  private static IllegalArgumentException wrong(
      String what, Path file, String wanted, @Nullable Exception why) {
    return new IllegalArgumentException(
        "the %s must have %s: %s".formatted(what, wanted, file), why);
  }
}
