package dev.sluice.broker;

import dev.sluice.broker.Batch.Level;
import dev.sluice.broker.Batch.Meta;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What rows look like; {@code docs/storage.md} has it as a table.
 *
 * <p>A change of any of this is a new {@link #VERSION}. Rows of all versions from {@link
 * #OLDEST_VERSION} on are read, and those of the newest are written.
 */
final class Schema {
  static final int OLDEST_VERSION = 1;

  /**
   * Since 2, queues have delays, a revision and, if they end with it, strict throttle keys. Since
   * 3, messages that have moved keep their id.
   */
  static final int VERSION = 3;

  /** Rows of {@link Table#META}. */
  static final byte[] VERSION_KEY = utf8("schema");

  static final byte[] OPENED_KEY = utf8("opened");
  static final byte[] META_KEY = utf8("meta");

  /** Sorts after every key. */
  static final byte[] END = filled(Checks.MAX_KEY_BYTES + 8);

  private static final byte QUEUE = 'q';
  private static final byte VALUE = 'v';

  private Schema() {}

  private static byte[] filled(int size) {
    byte[] end = new byte[size];
    Arrays.fill(end, (byte) 0xff);
    return end;
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  /** Of {@link Table#MESSAGE} and {@link Table#STATE}. */
  static byte[] messageKey(int queueId, long sequence) {
    return new ByteWriter(12).int32(queueId).int64(sequence).toBytes();
  }

  static long sequence(byte[] messageKey) {
    ByteReader in = new ByteReader(messageKey);
    in.int32();
    return in.int64();
  }

  static byte[] messageKey(Entry entry) {
    return messageKey(entry.line.id, entry.sequence);
  }

  /**
   * Where a message stands.
   *
   * @param keptId its id; null if the key of the row says it
   */
  record StateRow(
      int attempts,
      long availableAt,
      long expiresAt,
      int bytes,
      Route.Spec route,
      @Nullable UUID keptId) {
    /** Returns the id of the message, which is stored under {@code messageKey}. */
    UUID id(byte[] messageKey) {
      return keptId == null
          ? MessageId.of(new ByteReader(messageKey).int32(), sequence(messageKey))
          : keptId;
    }
  }

  static byte[] stateRow(Entry entry, int attempts, long availableAt) {
    byte[] route = entry.route.encoded;
    ByteWriter out =
        new ByteWriter(42 + route.length)
            .varint(attempts)
            .int64(availableAt)
            .int64(entry.expiresAt)
            .varint(entry.bytes)
            .raw(route);
    if (entry instanceof MovedEntry moved) {
      id(out, moved.id());
    }
    return out.toBytes();
  }

  static StateRow stateRow(byte[] value) {
    ByteReader in = new ByteReader(value);
    return new StateRow(
        in.varint32(),
        in.int64(),
        in.int64(),
        in.varint32(),
        Route.decode(in),
        in.hasMore() ? id(in) : null);
  }

  private static ByteWriter id(ByteWriter out, UUID id) {
    return out.int64(id.getMostSignificantBits()).int64(id.getLeastSignificantBits());
  }

  static UUID id(ByteReader in) {
    return new UUID(in.int64(), in.int64());
  }

  /** Of {@link Table#LEASE}: the leases of one batch. */
  static byte[] leaseKey(int epoch, long batch) {
    return new ByteWriter(12).int32(epoch).int64(batch).toBytes();
  }

  /** A lease as it is stored. */
  record StoredLease(int queueId, long sequence, LeaseToken token, int attempts, long until) {
    static StoredLease read(ByteReader in) {
      return new StoredLease(
          in.int32(),
          in.int64(),
          new LeaseToken(in.int32(), in.int64()),
          in.varint32(),
          in.int64());
    }

    void write(ByteWriter out) {
      out.int32(queueId).int64(sequence).int32(token.epoch()).int64(token.number());
      out.varint(attempts).int64(until);
    }
  }

  /** Of {@link Table#DEDUPE}. */
  static byte[] dedupeKey(int queueId, String dedupeId) {
    return new ByteWriter(64).int32(queueId).raw(utf8(dedupeId)).toBytes();
  }

  static String dedupeId(byte[] key) {
    return text(Arrays.copyOfRange(key, Integer.BYTES, key.length));
  }

  static byte[] dedupeRow(UUID id, long until) {
    return id(new ByteWriter(24), id).int64(until).toBytes();
  }

  /** Of {@link Table#CONFIG}: queues, then values. */
  static byte[] queueKey(int queueId) {
    return new ByteWriter(5).int8(QUEUE).int32(queueId).toBytes();
  }

  static byte[] configKey(String key) {
    byte[] name = utf8(key);
    return new ByteWriter(1 + name.length).int8(VALUE).raw(name).toBytes();
  }

  static boolean isQueue(byte[] configTableKey) {
    return configTableKey[0] == QUEUE;
  }

  static int queueId(byte[] queueKey) {
    ByteReader in = new ByteReader(queueKey);
    in.int8();
    return in.int32();
  }

  static String configName(byte[] configKey) {
    return text(Arrays.copyOfRange(configKey, 1, configKey.length));
  }

  static byte[] queueRow(String name, QueueConfig config, long revisionNumber) {
    return new ByteWriter(128)
        .text(name)
        .int64(config.leaseTimeout().toNanos())
        .text(config.durability().name())
        .text(orEmpty(config.onEnqueue()))
        .text(orEmpty(config.onFailure()))
        .varint(config.maxAttempts())
        .int8(config.strictOrder() ? 1 : 0)
        .varint(config.maxDepth())
        .varint(config.maxDepthPerKey())
        .varint(config.maxInFlightPerKey())
        .int64(config.timeToLive().toNanos())
        .int64(config.dedupeWindow().toNanos())
        .int64(config.retryDelay().toNanos())
        .int64(config.maxRetryDelay().toNanos())
        .varint(revisionNumber)
        .int8(config.strictThrottleKeys() ? 1 : 0)
        .toBytes();
  }

  private static String orEmpty(@Nullable String script) {
    return script == null ? "" : script;
  }

  /** A queue as it is stored. */
  record QueueRow(String name, QueueConfig config, long revisionNumber) {}

  static QueueRow queueRow(byte[] value) {
    ByteReader in = new ByteReader(value);
    String name = in.text();
    QueueConfig.Builder config =
        QueueConfig.builder()
            .leaseTimeout(Duration.ofNanos(in.int64()))
            .durability(Durability.valueOf(in.text()))
            .onEnqueue(emptyToNull(in.text()))
            .onFailure(emptyToNull(in.text()))
            .maxAttempts(in.varint32())
            .strictOrder(in.int8() != 0)
            .maxDepth(in.varint())
            .maxDepthPerKey(in.varint())
            .maxInFlightPerKey(in.varint32())
            .timeToLive(Duration.ofNanos(in.int64()))
            .dedupeWindow(Duration.ofNanos(in.int64()));
    if (!in.hasMore()) {
      // Version 1: such a queue tries again at once, and goes on doing so.
      return new QueueRow(name, config.retryDelay(Duration.ZERO).build(), 1);
    }
    config.retryDelay(Duration.ofNanos(in.int64())).maxRetryDelay(Duration.ofNanos(in.int64()));
    long revisionNumber = in.varint();
    config.strictThrottleKeys(in.hasMore() && in.int8() != 0);
    return new QueueRow(name, config.build(), revisionNumber);
  }

  private static @Nullable String emptyToNull(String script) {
    return script.isEmpty() ? null : script;
  }

  /** Of {@link Table#LEVEL}; the key is the throttle key. */
  static byte[] levelRow(Level level) {
    return new ByteWriter(16).float64(level.tokens()).int64(level.at()).toBytes();
  }

  static Level levelRow(byte[] key, byte[] value) {
    ByteReader in = new ByteReader(value);
    return new Level(text(key), in.float64(), in.int64());
  }

  /** The row {@link #META_KEY}. */
  static byte[] metaRow(Meta meta) {
    return new ByteWriter(40)
        .int64(meta.brokerTime())
        .int64(meta.bootNanos())
        .int64(meta.nextSequence())
        .int32(meta.nextQueueId())
        .int64(meta.lowWaterMark())
        .toBytes();
  }

  static Meta metaRow(byte[] value) {
    ByteReader in = new ByteReader(value);
    return new Meta(in.int64(), in.int64(), in.int64(), in.int32(), in.int64());
  }

  /** The row {@link #OPENED_KEY}: how often the store was opened, and under which boot. */
  record Opened(int epoch, String bootId) {
    byte[] encode() {
      return new ByteWriter(64).int32(epoch).text(bootId).toBytes();
    }

    static Opened decode(byte[] value) {
      ByteReader in = new ByteReader(value);
      return new Opened(in.int32(), in.text());
    }
  }
}
