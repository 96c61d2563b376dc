package dev.sluice.attacks.wire;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** Builds the contents of HTTP/2 frames of gRPC. */
public final class Grpc {
  public static final String HEALTH_CHECK = "/grpc.health.v1.Health/Check";
  public static final String HEALTH_WATCH = "/grpc.health.v1.Health/Watch";
  public static final String ENQUEUE = "/sluice.v1.Queues/Enqueue";
  public static final String ENQUEUE_STREAM = "/sluice.v1.Queues/EnqueueStream";
  public static final String RECEIVE = "/sluice.v1.Queues/Receive";
  public static final String BROWSE = "/sluice.v1.Queues/BrowseMessages";
  public static final String GET_QUEUE = "/sluice.v1.Queues/GetQueue";
  public static final String CONSUME = "/sluice.v1.Queues/Consume";
  public static final String SETTLE = "/sluice.v1.Queues/Settle";
  public static final String REDRIVE = "/sluice.v1.Queues/Redrive";
  public static final String PURGE = "/sluice.v1.Queues/PurgeQueue";
  public static final String DECIDE = "/sluice.v1.Limits/Decide";

  private Grpc() {}

  /** The headers of a call; an empty key for none. */
  public static byte[] headers(String path, String key) {
    return headers(path, key, List.of());
  }

  /** The headers of a call whose messages are compressed. */
  public static byte[] gzipHeaders(String path, String key) {
    return headers(path, key, List.of("grpc-encoding", "gzip"));
  }

  /** The headers of a call, with further names and values. */
  public static byte[] headers(String path, String key, List<String> more) {
    return headers("application/grpc", path, key, more);
  }

  /** The headers of a request that is no gRPC. */
  public static byte[] otherHeaders(String path) {
    return headers("text/plain", path, "", List.of());
  }

  private static byte[] headers(String type, String path, String key, List<String> more) {
    List<String> fields = new ArrayList<>();
    fields.addAll(List.of(":method", "POST", ":scheme", "http", ":path", path));
    fields.addAll(List.of(":authority", "localhost", "te", "trailers"));
    fields.addAll(List.of("content-type", type));
    if (!key.isEmpty()) {
      fields.addAll(List.of("authorization", "Bearer " + key));
    }
    fields.addAll(more);
    return Hpack.encode(fields.toArray(String[]::new));
  }

  /** A message behind its head of five bytes. */
  public static byte[] message(byte[] content) {
    return framed(0, content);
  }

  /**
   * A small compressed message of one field that is so large when it is unpacked.
   *
   * @param before fields that come before it
   * @param outer its field and those of the messages around it, the outermost first
   */
  public static byte[] gzipBomb(Proto before, int size, int... outer) {
    ByteArrayOutputStream small = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(small)) {
      byte[] zeros = new byte[1 << 16];
      gzip.write(before.encode());
      for (int i = 0; i < outer.length; i++) {
        gzip.write(Proto.head(outer[i], size + (outer.length - 1 - i) * Proto.MAX_HEAD_BYTES));
      }
      for (int left = size; left > 0; left -= zeros.length) {
        gzip.write(zeros, 0, Math.min(left, zeros.length));
      }
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return framed(1, small.toByteArray());
  }

  private static byte[] framed(int compressed, byte[] content) {
    return ByteBuffer.allocate(5 + content.length)
        .put((byte) compressed)
        .putInt(content.length)
        .put(content)
        .array();
  }

  /** The name of a service in a request for health, so long. */
  public static byte[] healthRequest(int nameBytes) {
    return new Proto().bytes(1, "x".repeat(nameBytes).getBytes(StandardCharsets.US_ASCII)).encode();
  }
}
