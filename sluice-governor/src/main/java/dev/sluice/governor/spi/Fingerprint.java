package dev.sluice.governor.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** A short text that stands for a long one. */
final class Fingerprint {
  private Fingerprint() {}

  /** Returns the fingerprint of an object's text. */
  static String of(Object value) {
    try {
      byte[] text = value.toString().getBytes(UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException(missing);
    }
  }
}
