package dev.sluice.server.auth;

import dev.sluice.server.support.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/** The secret part of keys: random, shown once, stored as a hash. */
public final class ApiKeyTokens {
  private static final int BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  private ApiKeyTokens() {}

  static String random() {
    byte[] bytes = new byte[BYTES];
    RANDOM.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** SHA-256 in hex, which suffices for tokens of 256 random bits. */
  public static String hash(String token) {
    return Sha256.hex(token.getBytes(StandardCharsets.UTF_8));
  }

  /** Compares two hashes in constant time. */
  static boolean same(String hash, String other) {
    return MessageDigest.isEqual(
        hash.getBytes(StandardCharsets.US_ASCII), other.getBytes(StandardCharsets.US_ASCII));
  }
}
