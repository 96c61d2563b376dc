package dev.sluice.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;

/** Issues certificates as PEM files, in DER by hand: a tool would take a second for each. */
final class TestCertificates {
  private static final int INTEGER = 0x02;
  private static final int BIT_STRING = 0x03;
  private static final int OCTET_STRING = 0x04;
  private static final int UTF8 = 0x0C;
  private static final int TIME = 0x18;
  private static final int SEQUENCE = 0x30;
  private static final int SET = 0x31;
  private static final int EXPLICIT_0 = 0xA0;
  private static final int EXPLICIT_3 = 0xA3;
  private static final int SAN_DNS = 0x82;
  private static final int SAN_IP = 0x87;
  private static final byte[] ECDSA_WITH_SHA256 = hex("06082a8648ce3d040302");
  private static final byte[] COMMON_NAME = hex("0603550403");
  private static final byte[] BASIC_CONSTRAINTS = hex("0603551d13");
  private static final byte[] IS_CA = hex("0101ff0405" + "30030101ff");
  private static final byte[] ALTERNATIVE_NAME = hex("0603551d11");
  private static final byte[] LOOPBACK = {127, 0, 0, 1};
  private static final byte[] ELSEWHERE = {10, 9, 8, 7};

  private final Path dir;

  TestCertificates(Path dir) {
    this.dir = dir;
  }

  /** A certificate and its key, in memory and as files. */
  record Issued(String name, KeyPair keys, Path certificate, Path key) {}

  /** For whom, and how long from now; negative is over. */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  record Subject(String name, byte[] address, Duration lifetime) {}

  Issued authority(String name) throws Exception {
    KeyPair keys = keyPair();
    byte[] extension = der(SEQUENCE, BASIC_CONSTRAINTS, IS_CA);
    return issue(new Subject(name, LOOPBACK, Duration.ofDays(1)), keys, name, keys, extension);
  }

  Issued server(Issued authority, String name) throws Exception {
    return issued(authority, new Subject(name, LOOPBACK, Duration.ofDays(1)));
  }

  Issued expired(Issued authority, String name) throws Exception {
    return issued(authority, new Subject(name, LOOPBACK, Duration.ofHours(-1)));
  }

  Issued elsewhere(Issued authority, String name) throws Exception {
    return issued(authority, new Subject(name, ELSEWHERE, Duration.ofDays(1)));
  }

  private Issued issued(Issued authority, Subject subject) throws Exception {
    byte[] host = subject.address() == LOOPBACK ? text("localhost") : text("other.test");
    byte[] names = der(SEQUENCE, der(SAN_DNS, host), der(SAN_IP, subject.address()));
    byte[] extension = der(SEQUENCE, ALTERNATIVE_NAME, der(OCTET_STRING, names));
    return issue(subject, keyPair(), authority.name(), authority.keys(), extension);
  }

  private Issued issue(
      Subject subject, KeyPair keys, String issuer, KeyPair issuerKeys, byte[] extension)
      throws Exception {
    Instant end = Instant.now().plus(subject.lifetime());
    byte[] body =
        der(
            SEQUENCE,
            der(EXPLICIT_0, der(INTEGER, new byte[] {2})),
            der(INTEGER, BigInteger.valueOf(System.nanoTime()).abs().toByteArray()),
            der(SEQUENCE, ECDSA_WITH_SHA256),
            name(issuer),
            der(SEQUENCE, time(end.minus(Duration.ofDays(30))), time(end)),
            name(subject.name()),
            keys.getPublic().getEncoded(),
            der(EXPLICIT_3, der(SEQUENCE, extension)));
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(issuerKeys.getPrivate());
    signature.update(body);
    byte[] certificate =
        der(
            SEQUENCE,
            body,
            der(SEQUENCE, ECDSA_WITH_SHA256),
            der(BIT_STRING, new byte[] {0}, signature.sign()));
    Path pem = dir.resolve(subject.name() + ".pem");
    Path key = dir.resolve(subject.name() + ".key");
    write(pem, "CERTIFICATE", certificate);
    write(key, "PRIVATE KEY", keys.getPrivate().getEncoded());
    return new Issued(subject.name(), keys, pem, key);
  }

  private static KeyPair keyPair() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    return generator.generateKeyPair();
  }

  private static byte[] name(String name) {
    return der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, text(name)))));
  }

  private static byte[] time(Instant instant) {
    return der(
        TIME,
        text(
            DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'")
                .format(instant.atOffset(ZoneOffset.UTC))));
  }

  private static byte[] der(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    whole.write(tag);
    int length = content.size();
    if (length < 0x80) {
      whole.write(length);
    } else if (length < 0x100) {
      whole.write(0x81);
      whole.write(length);
    } else {
      whole.write(0x82);
      whole.write(length >> 8);
      whole.write(length);
    }
    whole.writeBytes(content.toByteArray());
    return whole.toByteArray();
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits);
  }

  private static void write(Path file, String kind, byte[] bytes) throws IOException {
    Files.writeString(
        file,
        "-----BEGIN %s-----\n%s\n-----END %s-----\n"
            .formatted(kind, Base64.getMimeEncoder().encodeToString(bytes), kind));
  }
}
