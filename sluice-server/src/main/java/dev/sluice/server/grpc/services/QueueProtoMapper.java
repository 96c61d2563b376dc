package dev.sluice.server.grpc.services;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import dev.sluice.broker.QueueConfig;
import dev.sluice.proto.v1.DeadLetter;
import dev.sluice.proto.v1.QueueStats;
import dev.sluice.proto.v1.QueueTotals;
import dev.sluice.proto.v1.StoredMessage;
import dev.sluice.proto.v1.UpdateQueueRequest;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueConfigFields;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Maps values of the broker to and from messages of {@code sluice.v1}. */
public final class QueueProtoMapper {
  private QueueProtoMapper() {}

  static List<Message> messages(List<dev.sluice.proto.v1.Message> messages) {
    List<Message> all = new ArrayList<>(messages.size());
    messages.forEach(each -> all.add(message(each)));
    return all;
  }

  private static Message message(dev.sluice.proto.v1.Message wire) {
    Message message = Message.of(wire.getPayload().toByteArray());
    if (wire.getHeadersCount() > 0) {
      message = message.withHeaders(wire.getHeadersMap());
    }
    if (!wire.getFairnessKey().isEmpty()) {
      message = message.withFairnessKey(wire.getFairnessKey());
    }
    if (wire.getWeight() != 0) {
      message = message.withWeight(wire.getWeight());
    }
    if (wire.getPriority() != 0) {
      message = message.withPriority(wire.getPriority());
    }
    for (var throttle : wire.getThrottleKeysMap().entrySet()) {
      message = message.withThrottleKey(throttle.getKey(), throttle.getValue());
    }
    if (wire.getDelayMs() != 0) {
      message = message.withDelay(Duration.ofMillis(wire.getDelayMs()));
    }
    if (wire.getTimeToLiveMs() != 0) {
      message = message.withTimeToLive(Duration.ofMillis(wire.getTimeToLiveMs()));
    }
    return wire.getDedupeId().isEmpty() ? message : message.withDedupeId(wire.getDedupeId());
  }

  static dev.sluice.proto.v1.Delivery delivery(Delivery delivery) {
    var wire =
        dev.sluice.proto.v1.Delivery.newBuilder()
            .setId(delivery.id().toString())
            .setLeaseToken(IdFormat.lease(delivery.leaseToken()))
            .setPayload(bytes(delivery.payload()))
            .putAllHeaders(delivery.headers())
            .setFairnessKey(delivery.fairnessKey())
            .setWeight(delivery.weight())
            .addAllThrottleKeys(delivery.throttleKeys())
            .setAttempts(delivery.attempts())
            .setEnqueuedAtMs(delivery.enqueuedAt().toEpochMilli())
            .setLeaseEndsAtMs(delivery.leaseEndsAt().toEpochMilli());
    delivery.deadLetter().ifPresent(each -> wire.setDeadLetter(deadLetter(each)));
    return wire.build();
  }

  /** Wraps the payload without a copy: the broker does not modify payloads that it has read. */
  public static ByteString bytes(byte[] payload) {
    return UnsafeByteOperations.unsafeWrap(payload);
  }

  private static DeadLetter deadLetter(dev.sluice.broker.DeadLetter deadLetter) {
    return DeadLetter.newBuilder()
        .setQueue(deadLetter.queue())
        .setId(deadLetter.id().toString())
        .setReason(deadLetter.reason().name())
        .setAttempts(deadLetter.attempts())
        .setError(deadLetter.error())
        .build();
  }

  static StoredMessage stored(dev.sluice.broker.StoredMessage message) {
    var wire =
        StoredMessage.newBuilder()
            .setId(message.id().toString())
            .setPayload(bytes(message.payload()))
            .setPayloadSize(message.payloadSize())
            .setPayloadTruncated(message.isTruncated())
            .putAllHeaders(message.headers())
            .setFairnessKey(message.fairnessKey())
            .addAllThrottleKeys(message.throttleKeys())
            .setAttempts(message.attempts())
            .setEnqueuedAtMs(message.enqueuedAt().toEpochMilli())
            .setAvailableAtMs(message.availableAt().toEpochMilli());
    message.deadLetter().ifPresent(each -> wire.setDeadLetter(deadLetter(each)));
    return wire.build();
  }

  static List<Settlement> settlements(List<dev.sluice.proto.v1.Settlement> settlements) {
    List<Settlement> all = new ArrayList<>(settlements.size());
    for (var each : settlements) {
      all.add(
          new Settlement(
              IdFormat.id(each.getId()), IdFormat.lease(each.getLeaseToken()), action(each)));
    }
    return all;
  }

  private static Action action(dev.sluice.proto.v1.Settlement settlement) {
    return switch (settlement.getActionCase()) {
      case ACK -> new Action.Ack();
      case NACK -> nack(settlement.getNack());
      case EXTEND ->
          new Action.Extend(Duration.ofMillis(settlement.getExtend().getLeaseTimeoutMs()));
      case RELEASE -> new Action.Release();
      case ACTION_NOT_SET ->
          throw ApiException.invalid(
              "action must be one of ack, nack, extend, release, but was none: id="
                  + settlement.getId());
    };
  }

  private static Action nack(dev.sluice.proto.v1.Settlement.Nack nack) {
    return new Action.Nack(
        nack.getError(), nack.hasDelayMs() ? Duration.ofMillis(nack.getDelayMs()) : null);
  }

  /**
   * Returns the configuration as over HTTP: a field that is absent, or 0 without a meaning, is
   * null.
   */
  static QueueConfigFields config(dev.sluice.proto.v1.QueueConfig wire) {
    boolean hasDurability =
        wire.getDurability() != dev.sluice.proto.v1.Durability.DURABILITY_UNSPECIFIED;
    return new QueueConfigFields(
        wire.getLeaseTimeoutMs() == 0 ? null : wire.getLeaseTimeoutMs(),
        hasDurability ? durability(wire.getDurability()) : null,
        emptyToNull(wire.getOnEnqueue()),
        emptyToNull(wire.getOnFailure()),
        wire.hasMaxAttempts() ? wire.getMaxAttempts() : null,
        wire.hasRetryDelayMs() ? wire.getRetryDelayMs() : null,
        wire.hasMaxRetryDelayMs() ? wire.getMaxRetryDelayMs() : null,
        wire.getStrictOrder(),
        wire.getMaxDepth(),
        wire.getMaxDepthPerKey(),
        wire.getMaxInFlightPerKey(),
        wire.getTimeToLiveMs(),
        wire.getDedupeWindowMs(),
        wire.getStrictThrottleKeys());
  }

  /**
   * Returns the change that the request asks for: of the whole configuration, or of some fields.
   */
  static UnaryOperator<QueueConfig> change(UpdateQueueRequest request) {
    QueueConfigFields config = config(request.getConfig());
    if (!request.hasUpdateMask()) {
      QueueConfig whole = config.toConfig();
      return before -> whole;
    }
    List<String> named = request.getUpdateMask().getPathsList();
    if (named.isEmpty()) {
      throw ApiException.invalid("update_mask must name at least one field, or be left out");
    }
    return before -> config.appliedTo(before, named);
  }

  private static Durability durability(dev.sluice.proto.v1.Durability wire) {
    return switch (wire) {
      case ALWAYS -> Durability.ALWAYS;
      case INTERVAL -> Durability.INTERVAL;
      case OS -> Durability.OS;
      case DURABILITY_UNSPECIFIED, UNRECOGNIZED ->
          throw ApiException.invalid(
              "durability must be one of ALWAYS, INTERVAL, OS, but was " + wire);
    };
  }

  public static @Nullable String emptyToNull(String text) {
    return text.isEmpty() ? null : text;
  }

  static dev.sluice.proto.v1.QueueConfig config(QueueConfig config) {
    String onEnqueue = config.onEnqueue();
    String onFailure = config.onFailure();
    return dev.sluice.proto.v1.QueueConfig.newBuilder()
        .setLeaseTimeoutMs(config.leaseTimeout().toMillis())
        .setDurability(dev.sluice.proto.v1.Durability.valueOf(config.durability().name()))
        .setOnEnqueue(onEnqueue == null ? "" : onEnqueue)
        .setOnFailure(onFailure == null ? "" : onFailure)
        .setMaxAttempts(config.maxAttempts())
        .setRetryDelayMs(config.retryDelay().toMillis())
        .setMaxRetryDelayMs(config.maxRetryDelay().toMillis())
        .setStrictOrder(config.strictOrder())
        .setMaxDepth(config.maxDepth())
        .setMaxDepthPerKey(config.maxDepthPerKey())
        .setMaxInFlightPerKey(config.maxInFlightPerKey())
        .setTimeToLiveMs(config.timeToLive().toMillis())
        .setDedupeWindowMs(config.dedupeWindow().toMillis())
        .setStrictThrottleKeys(config.strictThrottleKeys())
        .build();
  }

  static QueueTotals totals(dev.sluice.broker.QueueTotals totals) {
    return QueueTotals.newBuilder()
        .setEnqueued(totals.enqueued())
        .setDelivered(totals.delivered())
        .setAcked(totals.acked())
        .setFailed(totals.failed())
        .setDeadLettered(totals.deadLettered())
        .build();
  }

  static QueueStats stats(dev.sluice.broker.QueueStats stats) {
    var wire =
        QueueStats.newBuilder()
            .setDepth(stats.depth())
            .setInFlight(stats.inFlight())
            .setDelayed(stats.delayed())
            .setConsumers(stats.consumers())
            .setTotals(totals(stats.totals()))
            .setUnknownThrottleKeys(stats.unknownThrottleKeys())
            .setLastUnknownThrottleKey(stats.lastUnknownThrottleKey());
    stats
        .fairnessKeys()
        .forEach(
            key ->
                wire.addFairnessKeys(
                    QueueStats.FairnessKeyStats.newBuilder()
                        .setFairnessKey(key.fairnessKey())
                        .setPending(key.pending())
                        .setWeight(key.weight())
                        .setDeficit(key.deficit())));
    return wire.build();
  }
}
