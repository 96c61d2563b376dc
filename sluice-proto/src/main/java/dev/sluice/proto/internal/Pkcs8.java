package dev.sluice.proto.internal;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/** Wraps private keys in the older encodings as PKCS #8, the only one that Java reads. */
final class Pkcs8 {
  private static final int INTEGER = 0x02;
  private static final int OCTET_STRING = 0x04;
  private static final int SEQUENCE = 0x30;
  private static final int EXPLICIT_0 = 0xA0;
  private static final int LONG_FORM = 0x80;
  private static final int MAX_LENGTH_BYTES = 3;

  private static final byte[] VERSION = {INTEGER, 1, 0};

  /** The algorithm {@code rsaEncryption} with its NULL parameters. */
  private static final byte[] RSA = HexFormat.of().parseHex("300d06092a864886f70d0101010500");

  /** The name {@code id-ecPublicKey}; the curve follows it. */
  private static final byte[] EC_PUBLIC_KEY = HexFormat.of().parseHex("06072a8648ce3d0201");

  private Pkcs8() {}

  /** Wraps an {@code RSAPrivateKey} of PKCS #1, as in {@code BEGIN RSA PRIVATE KEY}. */
  static byte[] ofPkcs1(byte[] key) {
    return der(SEQUENCE, VERSION, RSA, der(OCTET_STRING, key));
  }

  /**
   * Wraps an {@code ECPrivateKey} of SEC1, as in {@code BEGIN EC PRIVATE KEY}.
   *
   * @throws IllegalArgumentException if it is malformed or does not say its curve
   */
  static byte[] ofSec1(byte[] key) {
    byte[] algorithm = der(SEQUENCE, EC_PUBLIC_KEY, curve(key));
    return der(SEQUENCE, VERSION, algorithm, der(OCTET_STRING, key));
  }

  private static byte[] curve(byte[] sec1) {
    ByteBuffer key = content(ByteBuffer.wrap(sec1), SEQUENCE);
    content(key, INTEGER);
    content(key, OCTET_STRING);
    ByteBuffer parameters = content(key, EXPLICIT_0);
    byte[] curve = new byte[parameters.remaining()];
    parameters.get(curve);
    return curve;
  }

  /** Reads one value and returns its content; moves {@code in} behind the value. */
  private static ByteBuffer content(ByteBuffer in, int tag) {
    if (in.remaining() < 2 || Byte.toUnsignedInt(in.get()) != tag) {
      throw malformed();
    }
    int length = length(in);
    if (length > in.remaining()) {
      throw malformed();
    }
    ByteBuffer content = in.slice(in.position(), length);
    in.position(in.position() + length);
    return content;
  }

  private static int length(ByteBuffer in) {
    int first = Byte.toUnsignedInt(in.get());
    if (first < LONG_FORM) {
      return first;
    }
    int bytes = first - LONG_FORM;
    if (bytes == 0 || bytes > MAX_LENGTH_BYTES || bytes > in.remaining()) {
      throw malformed();
    }
    int length = 0;
    for (int i = 0; i < bytes; i++) {
      length = (length << Byte.SIZE) | Byte.toUnsignedInt(in.get());
    }
    return length;
  }

  private static IllegalArgumentException malformed() {
    return new IllegalArgumentException("not an EC private key of SEC1 that names its curve");
  }

  private static byte[] der(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    value.write(tag);
    writeLength(value, content.size());
    value.writeBytes(content.toByteArray());
    return value.toByteArray();
  }

  /** Writes the length in as few bytes as possible, as DER requires. */
  private static void writeLength(ByteArrayOutputStream out, int length) {
    if (length < LONG_FORM) {
      out.write(length);
      return;
    }
    int bytes = (Integer.SIZE - Integer.numberOfLeadingZeros(length) + Byte.SIZE - 1) / Byte.SIZE;
    out.write(LONG_FORM + bytes);
    for (int i = bytes - 1; i >= 0; i--) {
      out.write(length >> (i * Byte.SIZE));
    }
  }
}
