package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Proto;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.IntFunction;

/** Requests that are too much: too many parts, too deep, or with names that collide. */
final class Bodies {
  private static final int NAMES = 33_000;
  private static final int IDS = 20_000;
  private static final int SETTLEMENTS = 300_000;

  /** As many as one request may have. */
  private static final int NACKS = 10_000;

  private static final int COSTS = 900_000;
  private static final int DEPTH = 500_000;
  private static final int DIGITS = 1_000_000;
  private static final int MESSAGES = 400_000;

  /** The fields of a settlement. */
  private static final int ACK = 3;

  private static final int NACK = 4;

  private Bodies() {}

  // ---- JSON

  static byte[] collidingHeaders() {
    return list("{\"payload\":\"x\",\"headers\":{", NAMES, Bodies::emptyHeader, "}}");
  }

  private static String emptyHeader(int number) {
    return "\"%s\":\"\"".formatted(Collisions.text(number));
  }

  static byte[] collidingCosts() {
    return list("{\"costs\":{", NAMES, i -> "\"%s\":1".formatted(Collisions.text(i)), "}}");
  }

  /** Not one of them is known. */
  static byte[] collidingFields() {
    return list("{", NAMES, i -> "\"%s\":1".formatted(Collisions.text(i)), "}");
  }

  static byte[] collidingIds() {
    return list("{\"settlements\":[", IDS, i -> settlement(Collisions.id(i), "ack"), "]}");
  }

  static byte[] settlements() {
    return list("{\"settlements\":[", SETTLEMENTS, i -> settlement(id(i), "ack"), "]}");
  }

  static byte[] nacks() {
    return list("{\"settlements\":[", NACKS, i -> settlement(id(i), "nack"), "]}");
  }

  private static String settlement(String id, String action) {
    return "{\"id\":\"%s\",\"action\":\"%s\"}".formatted(id, action);
  }

  private static String id(int number) {
    return "00000000-0000-7000-8000-%012d".formatted(number);
  }

  static byte[] costs() {
    return list("{\"costs\":{", COSTS, i -> "\"k" + i + "\":1", "}}");
  }

  static byte[] messages() {
    return list("{\"messages\":[", MESSAGES, i -> "{\"payload\":\"\"}", "]}");
  }

  static byte[] deepArrays() {
    return ascii("{\"messages\":" + "[".repeat(DEPTH));
  }

  static byte[] deepObjects() {
    return ascii("{\"x\":".repeat(DEPTH));
  }

  static byte[] manyDigits() {
    return ascii("{\"payload\":\"x\",\"priority\":%s}".formatted("9".repeat(DIGITS)));
  }

  static byte[] hugeExponent() {
    return ascii("{\"payload\":\"x\",\"delay_ms\":1e2147483647,\"weight\":1E+999999999}");
  }

  private static byte[] list(String begin, int count, IntFunction<String> part, String end) {
    StringBuilder all = new StringBuilder(begin);
    for (int i = 0; i < count; i++) {
      all.append(i == 0 ? "" : ",").append(part.apply(i));
    }
    return ascii(all.append(end).toString());
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  // ---- protobuf

  static byte[] protoCollidingHeaders() {
    Proto message = new Proto();
    for (int i = 0; i < NAMES; i++) {
      message.message(2, new Proto().text(1, Collisions.text(i)));
    }
    return new Proto().text(1, Attacks.QUEUE).message(2, message).encode();
  }

  static byte[] protoSettlements() {
    return settlements(SETTLEMENTS, ACK, Bodies::id);
  }

  static byte[] protoCollidingIds() {
    return settlements(IDS, ACK, Collisions::id);
  }

  static byte[] protoNacks() {
    return settlements(NACKS, NACK, Bodies::id);
  }

  private static byte[] settlements(int count, int action, IntFunction<String> id) {
    Proto all = new Proto().text(1, Attacks.QUEUE);
    for (int i = 0; i < count; i++) {
      all.message(2, new Proto().text(1, id.apply(i)).message(action, new Proto()));
    }
    return all.encode();
  }

  static byte[] protoCosts() {
    Proto all = new Proto();
    for (int i = 0; i < COSTS; i++) {
      all.message(1, new Proto().text(1, "k" + i));
    }
    return all.encode();
  }

  /** Each takes two bytes on the wire, and an object in memory. */
  static byte[] protoMessages() {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(new Proto().text(1, Attacks.QUEUE).encode());
    byte[] empty = new Proto().message(2, new Proto()).encode();
    for (int i = 0; i < MESSAGES; i++) {
      all.writeBytes(empty);
    }
    return all.toByteArray();
  }
}
