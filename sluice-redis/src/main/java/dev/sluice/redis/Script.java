package dev.sluice.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** What runs inside Redis, each in one step. */
enum Script {
  /** Takes tokens of several keys, or of none. */
  DECIDE("clock", "quick", "bucket", "decide"),
  /** Decides several requests about one bucket. */
  MANY("clock", "bucket", "many"),
  /** Looks at a bucket, adds tokens or fills it. */
  ADJUST("clock", "bucket", "adjust"),
  /** Closes a block out on lease, and lends another one or takes tokens. */
  LEASE("clock", "bucket", "lease"),
  /** Charges what was granted in an outage. */
  CHARGE("clock", "bucket", "charge"),
  /** Says that a node is alive. */
  PULSE("clock", "pulse"),
  /** Reads or changes the rules of the fleet. */
  RULES("clock", "rules");

  private final String body;
  private final String digest;

  Script(String... parts) {
    StringBuilder text = new StringBuilder();
    for (String part : parts) {
      text.append(read(part + ".lua"));
    }
    body = text.toString();
    digest = sha1(body);
  }

  String body() {
    return body;
  }

  /** What Redis calls it. */
  String digest() {
    return digest;
  }

  private static String read(String file) {
    try (InputStream in = Script.class.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException("a script is missing from the library: " + file);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException("a script cannot be read: " + file, failure);
    }
  }

  private static String sha1(String text) {
    try {
      MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
      return HexFormat.of().formatHex(sha1.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException everyJdkHasIt) {
      throw new IllegalStateException(everyJdkHasIt);
    }
  }
}
