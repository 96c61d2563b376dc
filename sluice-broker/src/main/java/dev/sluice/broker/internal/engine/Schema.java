package dev.sluice.broker.internal.engine;

import dev.sluice.broker.Durability;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.internal.engine.CommitBatch.Level;
import dev.sluice.broker.internal.engine.CommitBatch.Meta;
import dev.sluice.broker.internal.store.ByteReader;
import dev.sluice.broker.internal.store.ByteWriter;
import dev.sluice.broker.internal.store.MessageId;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.util.Checks;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Encodes and decodes rows; {@code docs/storage.md} describes them.
 *
 * <p>A change of any of this is a new {@link #VERSION}. Rows of all versions from {@link
 * #OLDEST_VERSION} on are read, and those of the newest are written.
 */
public final class Schema {
  public static final int OLDEST_VERSION = 1;

  /**
   * Since 2, queues have delays, a revision and, if they end with it, strict throttle keys. Since
   * 3, messages that have moved keep their id. Since 4, queues end with the patterns of the
   * throttle keys that their hook may name.
   */
  public static final int VERSION = 4;

  /** Rows of {@link StoreTable#META}. */
  public static final byte[] VERSION_KEY = utf8("schema");

  public static final byte[] OPENED_KEY = utf8("opened");
  public static final byte[] META_KEY = utf8("meta");

  /** Sorts after every key. */
  public static final byte[] END = filled(Checks.MAX_KEY_BYTES + 8);

  private static final byte QUEUE = 'q';
  private static final byte VALUE = 'v';

  private Schema() {}

  private static byte[] filled(int size) {
    byte[] end = new byte[size];
    Arrays.fill(end, (byte) 0xff);
    return end;
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  /** Of {@link StoreTable#MESSAGE} and {@link StoreTable#STATE}. */
  public static byte[] messageKey(int queueId, long sequence) {
    return new ByteWriter(12).int32(queueId).int64(sequence).toBytes();
  }

  public static long sequence(byte[] messageKey) {
    ByteReader in = new ByteReader(messageKey);
    in.int32();
    return in.int64();
  }

  public static byte[] messageKey(MessageEntry entry) {
    return messageKey(entry.queue.id, entry.sequence);
  }

  /**
   * The state of a message.
   *
   * @param keptId its id; null if the key of the row says it
   */
  public record StateRow(
      int attempts,
      long availableAt,
      long expiresAt,
      int bytes,
      InternedPlacement.Spec route,
      @Nullable UUID keptId) {
    /** Returns the id of the message, which is stored under {@code messageKey}. */
    public UUID id(byte[] messageKey) {
      return keptId == null
          ? MessageId.of(new ByteReader(messageKey).int32(), sequence(messageKey))
          : keptId;
    }
  }

  public static byte[] stateRow(MessageEntry entry, int attempts, long availableAt) {
    byte[] route = entry.placement.encoded;
    ByteWriter out =
        new ByteWriter(42 + route.length)
            .varint(attempts)
            .int64(availableAt)
            .int64(entry.expiresAt)
            .varint(entry.bytes)
            .raw(route);
    if (entry instanceof MovedMessageEntry moved) {
      id(out, moved.id());
    }
    return out.toBytes();
  }

  public static StateRow stateRow(byte[] value) {
    ByteReader in = new ByteReader(value);
    return new StateRow(
        in.varint32(),
        in.int64(),
        in.int64(),
        in.varint32(),
        InternedPlacement.decode(in),
        in.hasMore() ? id(in) : null);
  }

  private static ByteWriter id(ByteWriter out, UUID id) {
    return out.int64(id.getMostSignificantBits()).int64(id.getLeastSignificantBits());
  }

  public static UUID id(ByteReader in) {
    return new UUID(in.int64(), in.int64());
  }

  /** Of {@link StoreTable#LEASE}: the leases of one batch. */
  public static byte[] leaseKey(int epoch, long batch) {
    return new ByteWriter(12).int32(epoch).int64(batch).toBytes();
  }

  /** A lease as it is stored. */
  public record StoredLease(
      int queueId, long sequence, LeaseToken token, int attempts, long until) {
    public static StoredLease read(ByteReader in) {
      return new StoredLease(
          in.int32(),
          in.int64(),
          new LeaseToken(in.int32(), in.int64()),
          in.varint32(),
          in.int64());
    }

    public void write(ByteWriter out) {
      out.int32(queueId).int64(sequence).int32(token.epoch()).int64(token.number());
      out.varint(attempts).int64(until);
    }
  }

  /** Of {@link StoreTable#DEDUPE}. */
  public static byte[] dedupeKey(int queueId, String dedupeId) {
    return new ByteWriter(64).int32(queueId).raw(utf8(dedupeId)).toBytes();
  }

  public static String dedupeId(byte[] key) {
    return text(Arrays.copyOfRange(key, Integer.BYTES, key.length));
  }

  public static byte[] dedupeRow(UUID id, long until) {
    return id(new ByteWriter(24), id).int64(until).toBytes();
  }

  /** Of {@link StoreTable#CONFIG}: queues, then values. */
  public static byte[] queueKey(int queueId) {
    return new ByteWriter(5).int8(QUEUE).int32(queueId).toBytes();
  }

  public static byte[] configKey(String key) {
    byte[] name = utf8(key);
    return new ByteWriter(1 + name.length).int8(VALUE).raw(name).toBytes();
  }

  public static boolean isQueue(byte[] configTableKey) {
    return configTableKey[0] == QUEUE;
  }

  public static int queueId(byte[] queueKey) {
    ByteReader in = new ByteReader(queueKey);
    in.int8();
    return in.int32();
  }

  public static String configName(byte[] configKey) {
    return text(Arrays.copyOfRange(configKey, 1, configKey.length));
  }

  public static byte[] queueRow(String name, QueueConfig config, long revisionNumber) {
    ByteWriter out =
        new ByteWriter(128)
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
            .varint(config.hookThrottleKeys().size());
    config.hookThrottleKeys().forEach(out::text);
    return out.toBytes();
  }

  private static String orEmpty(@Nullable String script) {
    return script == null ? "" : script;
  }

  /** A queue as it is stored. */
  public record QueueRow(String name, QueueConfig config, long revisionNumber) {}

  public static QueueRow queueRow(byte[] value) {
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
      // Version 1: the queue retries without a delay, and keeps doing so.
      return new QueueRow(name, config.retryDelay(Duration.ZERO).build(), 1);
    }
    config.retryDelay(Duration.ofNanos(in.int64())).maxRetryDelay(Duration.ofNanos(in.int64()));
    long revisionNumber = in.varint();
    config.strictThrottleKeys(in.hasMore() && in.int8() != 0);
    if (in.hasMore()) {
      config.hookThrottleKeys(texts(in));
    }
    return new QueueRow(name, config.build(), revisionNumber);
  }

  private static List<String> texts(ByteReader in) {
    int count = in.varint32();
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      texts.add(in.text());
    }
    return texts;
  }

  private static @Nullable String emptyToNull(String script) {
    return script.isEmpty() ? null : script;
  }

  /** Of {@link StoreTable#LEVEL}; the key is the throttle key. */
  public static byte[] levelRow(Level level) {
    return new ByteWriter(16).float64(level.tokens()).int64(level.at()).toBytes();
  }

  public static Level levelRow(byte[] key, byte[] value) {
    ByteReader in = new ByteReader(value);
    return new Level(text(key), in.float64(), in.int64());
  }

  /** The row {@link #META_KEY}. */
  public static byte[] metaRow(Meta meta) {
    return new ByteWriter(40)
        .int64(meta.brokerTime())
        .int64(meta.bootNanos())
        .int64(meta.nextSequence())
        .int32(meta.nextQueueId())
        .int64(meta.lowWaterMark())
        .toBytes();
  }

  public static Meta metaRow(byte[] value) {
    ByteReader in = new ByteReader(value);
    return new Meta(in.int64(), in.int64(), in.int64(), in.int32(), in.int64());
  }

  /** The row {@link #OPENED_KEY}: how often the store was opened, and under which boot. */
  public record Opened(int epoch, String bootId) {
    public byte[] encode() {
      return new ByteWriter(64).int32(epoch).text(bootId).toBytes();
    }

    public static Opened decode(byte[] value) {
      ByteReader in = new ByteReader(value);
      return new Opened(in.int32(), in.text());
    }
  }
}
