package dev.sluice.server.fila;

import com.google.protobuf.Timestamp;
import dev.sluice.LimitStats;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueStats;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.fila.v1.AclPermission;
import dev.sluice.server.fila.v1.ApiKeyInfo;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.fila.v1.GetAclResponse;
import dev.sluice.server.fila.v1.GetStatsResponse;
import dev.sluice.server.fila.v1.Message;
import dev.sluice.server.fila.v1.MessageMetadata;
import dev.sluice.server.fila.v1.MessageTimestamps;
import dev.sluice.server.fila.v1.PerFairnessKeyStats;
import dev.sluice.server.fila.v1.PerThrottleKeyStats;
import dev.sluice.server.fila.v1.QueueInfo;
import dev.sluice.server.grpc.services.QueueProtoMapper;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.QueueOperations;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Maps values of the broker to and from messages of {@code fila.v1}. */
final class FilaProtoMapper {
  /** The cost that a fairness key of weight 1 may spend in a round. */
  private static final int QUANTUM = 1;

  private FilaProtoMapper() {}

  static ConsumeResponse response(Delivery delivery) {
    return ConsumeResponse.newBuilder()
        .setMessage(
            Message.newBuilder()
                .setId(delivery.id().toString())
                .putAllHeaders(delivery.headers())
                .setPayload(QueueProtoMapper.bytes(delivery.payload()))
                .setMetadata(metadata(delivery))
                .setTimestamps(
                    MessageTimestamps.newBuilder().setEnqueuedAt(timestamp(delivery.enqueuedAt()))))
        .build();
  }

  private static MessageMetadata metadata(Delivery delivery) {
    return MessageMetadata.newBuilder()
        .setFairnessKey(delivery.fairnessKey())
        .setWeight(delivery.weight())
        .addAllThrottleKeys(delivery.throttleKeys())
        .setAttemptCount(delivery.attempts())
        .setQueueId(delivery.queue())
        .build();
  }

  private static Timestamp timestamp(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond())
        .setNanos(time.getNano())
        .build();
  }

  static QueueConfig config(dev.sluice.server.fila.v1.QueueConfig wire) {
    QueueConfig.Builder config =
        QueueConfig.builder()
            .maxAttempts(0) // as in fila: on_failure alone decides, and what failed goes at once
            .retryDelay(Duration.ZERO)
            .onEnqueue(QueueProtoMapper.emptyToNull(wire.getOnEnqueueScript()))
            .onFailure(QueueProtoMapper.emptyToNull(wire.getOnFailureScript()));
    if (wire.getVisibilityTimeoutMs() != 0) {
      QueueOperations.requireBetween(
          "visibility_timeout_ms",
          wire.getVisibilityTimeoutMs(),
          QueueConfig.MIN_LEASE_TIMEOUT.toMillis(),
          QueueConfig.MAX_LEASE_TIMEOUT.toMillis());
      config.leaseTimeout(Duration.ofMillis(wire.getVisibilityTimeoutMs()));
    }
    return config.build();
  }

  static GetStatsResponse stats(BrokerView.QueueSnapshot queue, List<LimitStats> throttles) {
    QueueStats stats = queue.stats();
    GetStatsResponse.Builder wire =
        GetStatsResponse.newBuilder()
            .setDepth(stats.depth())
            .setInFlight(stats.inFlight())
            .setActiveFairnessKeys(queue.waitingKeys())
            .setActiveConsumers(stats.consumers())
            .setQuantum(QUANTUM);
    stats
        .fairnessKeys()
        .forEach(
            key ->
                wire.addPerKeyStats(
                    PerFairnessKeyStats.newBuilder()
                        .setKey(key.fairnessKey())
                        .setPendingCount(key.pending())
                        .setCurrentDeficit(key.deficit())
                        .setWeight(key.weight())));
    throttles.stream()
        .limit(QueueOperations.MAX_KEYS)
        .forEach(
            throttle ->
                wire.addPerThrottleStats(
                    PerThrottleKeyStats.newBuilder()
                        .setKey(throttle.name())
                        .setTokens(throttle.level())
                        .setRatePerSecond(LimitOperations.Rate.of(throttle.limit()).perSecond())
                        .setBurst(LimitOperations.Rate.of(throttle.limit()).burst())));
    return wire.build();
  }

  static QueueInfo info(String name, QueueStats stats) {
    return QueueInfo.newBuilder()
        .setName(name)
        .setDepth(stats.depth())
        .setInFlight(stats.inFlight())
        .setActiveConsumers(stats.consumers())
        .build();
  }

  static ApiKeyInfo key(ApiKey key) {
    return ApiKeyInfo.newBuilder()
        .setKeyId(key.id())
        .setName(key.name())
        .setCreatedAtMs(key.createdAtMs())
        .setExpiresAtMs(key.expiresAtMs())
        .setIsSuperadmin(key.superadmin())
        .build();
  }

  static List<Permission> permissions(List<AclPermission> permissions) {
    return permissions.stream()
        .map(each -> new Permission(Permission.Kind.of(each.getKind()), each.getPattern()))
        .toList();
  }

  static GetAclResponse acl(ApiKey key) {
    GetAclResponse.Builder acl =
        GetAclResponse.newBuilder().setKeyId(key.id()).setIsSuperadmin(key.superadmin());
    for (Permission each : key.permissions()) {
      acl.addPermissions(
          AclPermission.newBuilder().setKind(each.kind().word()).setPattern(each.pattern()));
    }
    return acl.build();
  }
}
