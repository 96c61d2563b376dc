package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** Settles its message by the broker, which may have reopened its store meanwhile. */
public final class LeasedDelivery implements Delivery {
  private final Broker broker;
  private final PendingDelivery leased;
  private final MessageEnvelope envelope;

  LeasedDelivery(Broker broker, PendingDelivery leased, MessageEnvelope envelope) {
    this.broker = broker;
    this.leased = leased;
    this.envelope = envelope;
  }

  @Override
  public UUID id() {
    return leased.entry().id();
  }

  /** Returns where the message is stored, which differs from its id once it has moved. */
  public UUID storedId() {
    return leased.entry().storedId();
  }

  @Override
  public String queue() {
    return leased.entry().queue.name;
  }

  @Override
  public byte[] payload() {
    return envelope.payload();
  }

  @Override
  public Map<String, String> headers() {
    return envelope.headers();
  }

  @Override
  public String fairnessKey() {
    return leased.entry().placement.spec.fairnessKey();
  }

  @Override
  public int weight() {
    return leased.entry().placement.spec.weight();
  }

  @Override
  public Set<String> throttleKeys() {
    return leased.entry().placement.spec.throttleKeys().keySet();
  }

  @Override
  public int attempts() {
    return leased.attempts();
  }

  @Override
  public Instant enqueuedAt() {
    return instant(envelope.enqueuedAt());
  }

  @Override
  public Instant leaseEndsAt() {
    return instant(leased.until());
  }

  private static Instant instant(long brokerTime) {
    return Instant.ofEpochSecond(0, brokerTime);
  }

  @Override
  public LeaseToken leaseToken() {
    return leased.token();
  }

  @Override
  public Optional<DeadLetter> deadLetter() {
    return Optional.ofNullable(envelope.deadLetter());
  }

  @Override
  public CompletableFuture<Void> ack() {
    return broker.ack(queue(), id(), leaseToken());
  }

  @Override
  public CompletableFuture<Void> nack(String error) {
    return broker.nack(queue(), id(), leaseToken(), error, null);
  }

  @Override
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return broker.nack(queue(), id(), leaseToken(), error, delay);
  }

  @Override
  public CompletableFuture<Void> extend(Duration leaseTimeout) {
    return broker.extend(queue(), id(), leaseToken(), leaseTimeout);
  }

  @Override
  public boolean markForwarded() {
    return leased.lease().send();
  }

  @Override
  public CompletableFuture<Void> release() {
    return broker.release(queue(), id(), leaseToken());
  }

  @Override
  public String toString() {
    return "Delivery[queue=" + queue() + ", id=" + id() + ", leaseToken=" + leaseToken() + "]";
  }
}
