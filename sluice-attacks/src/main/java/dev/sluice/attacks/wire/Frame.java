package dev.sluice.attacks.wire;

/**
 * One frame of HTTP/2 (RFC 9113, section 4).
 *
 * @param type one of the constants below, or anything
 * @param stream 0 for the connection
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
public record Frame(int type, int flags, int stream, byte[] payload) {
  public static final int DATA = 0;
  public static final int HEADERS = 1;
  public static final int PRIORITY = 2;
  public static final int RST_STREAM = 3;
  public static final int SETTINGS = 4;
  public static final int PING = 6;
  public static final int GOAWAY = 7;
  public static final int WINDOW_UPDATE = 8;
  public static final int CONTINUATION = 9;

  /** Flag of DATA and HEADERS. */
  public static final int END_STREAM = 0x1;

  /** Flag of SETTINGS and PING. */
  public static final int ACK = 0x1;

  public static final int END_HEADERS = 0x4;

  private static final int HEAD_BYTES = 9;

  /** Frames without content. */
  public static Frame empty(int type, int flags, int stream) {
    return new Frame(type, flags, stream, new byte[0]);
  }

  /** A frame whose content is one number of 32 bits: RST_STREAM, WINDOW_UPDATE. */
  public static Frame ofInt(int type, int stream, int content) {
    return new Frame(type, 0, stream, bytes(content));
  }

  /** A setting of the sender. */
  public static Frame setting(int id, int value) {
    byte[] number = bytes(value);
    byte[] payload = {(byte) (id >> 8), (byte) id, number[0], number[1], number[2], number[3]};
    return new Frame(SETTINGS, 0, 0, payload);
  }

  public boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /** The first 32 bits of the content. */
  public int number() {
    return readInt(payload, 0);
  }

  /** As it travels. */
  public byte[] encode() {
    byte[] all = new byte[HEAD_BYTES + payload.length];
    all[0] = (byte) (payload.length >> 16);
    all[1] = (byte) (payload.length >> 8);
    all[2] = (byte) payload.length;
    all[3] = (byte) type;
    all[4] = (byte) flags;
    System.arraycopy(bytes(stream), 0, all, 5, 4);
    System.arraycopy(payload, 0, all, HEAD_BYTES, payload.length);
    return all;
  }

  /** The same frame many times, to be sent at once. */
  public byte[] times(int count) {
    byte[] one = encode();
    byte[] all = new byte[one.length * count];
    for (int i = 0; i < count; i++) {
      System.arraycopy(one, 0, all, i * one.length, one.length);
    }
    return all;
  }

  static byte[] bytes(int number) {
    return new byte[] {
      (byte) (number >> 24), (byte) (number >> 16), (byte) (number >> 8), (byte) number
    };
  }

  static int readInt(byte[] from, int at) {
    return ((from[at] & 0xff) << 24)
        | ((from[at + 1] & 0xff) << 16)
        | ((from[at + 2] & 0xff) << 8)
        | (from[at + 3] & 0xff);
  }
}
