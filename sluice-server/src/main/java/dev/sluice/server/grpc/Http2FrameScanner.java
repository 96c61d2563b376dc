package dev.sluice.server.grpc;

import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;

/**
 * Finds the frames in a stream of HTTP/2 bytes that comes in arbitrary pieces. It reads the nine
 * bytes before each frame and keeps nothing else. Not thread-safe.
 */
public final class Http2FrameScanner {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int PRIORITY = 2;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;

  /** A client's first bytes, before its first frame. */
  public static final int PREFACE_BYTES = 24;

  private static final int HEADER_BYTES = 9;
  private static final int LENGTH_BYTES = 3;
  private static final int BYTE = 0xFF;

  private int skip;
  private int read;
  private int length;
  private int type;
  private int flags;
  private int stream;

  /** {@code skip} bytes come before the first frame. */
  public Http2FrameScanner(int skip) {
    this.skip = skip;
  }

  /**
   * Moves on to the next frame header.
   *
   * @param index where to begin in {@code bytes}, which are not changed
   * @return the index behind the header, or -1 if {@code bytes} end before that
   */
  public int next(ByteBuf bytes, int index) {
    int at = index;
    int end = bytes.writerIndex();
    while (at < end) {
      if (skip > 0) {
        int step = Math.min(skip, end - at);
        skip -= step;
        at += step;
      } else if (header(bytes.getByte(at++) & BYTE)) {
        return at;
      }
    }
    return -1;
  }

  /** Takes one byte of a header; returns true after the last one. */
  private boolean header(int value) {
    if (read < LENGTH_BYTES) {
      length = (length << Byte.SIZE | value) & 0xFFFFFF;
    } else if (read == LENGTH_BYTES) {
      type = value;
    } else if (read == LENGTH_BYTES + 1) {
      flags = value;
    } else {
      stream = stream << Byte.SIZE | value;
    }
    read++;
    if (read < HEADER_BYTES) {
      return false;
    }
    read = 0;
    skip = length;
    return true;
  }

  /** Skips {@code bytes} of the payload, which the caller passes on by itself. */
  void passed(int bytes) {
    skip -= bytes;
  }

  /** Returns the length of the frame's payload in bytes. */
  public int length() {
    return length;
  }

  public int type() {
    return type;
  }

  boolean hasFlag(int flag) {
    return (flags & flag) != 0;
  }

  public int stream() {
    return stream & Integer.MAX_VALUE;
  }
}
