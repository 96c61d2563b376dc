package dev.sluice.broker;

import dev.sluice.broker.engine.Dispatcher;
import dev.sluice.broker.engine.PendingDelivery;
import dev.sluice.broker.store.MessageEnvelope;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * A message that a consumer has: to be settled before its lease ends.
 *
 * <p>Thread-safe. Each way to settle it answers once that is as durable as its queue asks for, and
 * fails with {@code LEASE_NOT_FOUND} if the lease has ended: then somebody else may have it.
 *
 * @since 0.1
 */
public final class Delivery {
  private final Broker broker;
  private final PendingDelivery handover;
  private final MessageEnvelope envelope;

  public Delivery(Broker broker, PendingDelivery handover, MessageEnvelope envelope) {
    this.broker = broker;
    this.handover = handover;
    this.envelope = envelope;
  }

  /**
   * Its id, which it keeps as a dead letter and when it is redriven.
   *
   * @return the id that enqueueing it returned
   */
  public UUID id() {
    return handover.entry().id();
  }

  /** Returns where it is stored, which differs from its id once it has moved. */
  UUID place() {
    return handover.entry().place();
  }

  /**
   * The queue it comes from.
   *
   * @return the name
   */
  public String queue() {
    return handover.entry().line.name;
  }

  /**
   * Its content.
   *
   * @return the bytes; not a copy
   */
  public byte[] payload() {
    return envelope.payload();
  }

  /**
   * Its headers.
   *
   * @return name and value of each
   */
  public Map<String, String> headers() {
    return envelope.headers();
  }

  /**
   * Its fairness key.
   *
   * @return the key
   */
  public String fairnessKey() {
    return handover.entry().route.spec.key();
  }

  /**
   * The weight that its fairness key had when it was enqueued.
   *
   * @return the weight
   */
  public int weight() {
    return handover.entry().route.spec.weight();
  }

  /**
   * The throttle keys it obeys.
   *
   * @return the keys
   */
  public Set<String> throttleKeys() {
    return handover.entry().route.spec.throttles().keySet();
  }

  /**
   * How often it failed before.
   *
   * @return 0 the first time
   */
  public int attempts() {
    return handover.attempts();
  }

  /**
   * When it was enqueued.
   *
   * @return broker time
   */
  public Instant enqueuedAt() {
    return instant(envelope.enqueuedAt());
  }

  /**
   * When its lease ends, if it is not extended.
   *
   * @return broker time
   */
  public Instant leaseEndsAt() {
    return instant(handover.until());
  }

  private static Instant instant(long brokerTime) {
    return Instant.ofEpochSecond(0, brokerTime);
  }

  /**
   * The token of its lease.
   *
   * @return the token
   */
  public LeaseToken leaseToken() {
    return handover.token();
  }

  /**
   * Why it is a dead letter.
   *
   * @return empty if it is none
   */
  public Optional<DeadLetter> deadLetter() {
    return Optional.ofNullable(envelope.deadLetter());
  }

  /**
   * It is done: it will not be delivered again.
   *
   * @return completed once that is stored
   */
  public CompletableFuture<Void> ack() {
    return broker.ack(queue(), id(), leaseToken());
  }

  /**
   * It could not be handled: the queue decides whether it is tried again.
   *
   * @param error what went wrong; kept with a dead letter
   * @return completed once that is stored
   */
  public CompletableFuture<Void> nack(String error) {
    return broker.nack(queue(), id(), leaseToken(), error, null);
  }

  /**
   * Reports that the message could not be handled: unless it becomes a dead letter, it is tried
   * again after {@code delay}.
   *
   * @param error what went wrong; kept with a dead letter
   * @param delay up to {@link QueueConfig#MAX_RETRY_DELAY}, instead of the delay of the queue
   * @return completed once that is stored
   */
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return broker.nack(queue(), id(), leaseToken(), error, delay);
  }

  /**
   * It takes longer.
   *
   * @param time from now on, up to {@link QueueConfig#MAX_LEASE_TIMEOUT}
   * @return completed once the lease is extended
   */
  public CompletableFuture<Void> extend(Duration time) {
    return broker.extend(queue(), id(), leaseToken(), time);
  }

  /**
   * Marks the message as sent, right before it goes to its receiver; for a handler that {@linkplain
   * MessageConsumer.Handler#forwards forwards}. From then on its throttle tokens are spent, unless
   * its receiver releases it.
   *
   * @return false if its lease has ended, or this was called before: it must not be sent then
   */
  public boolean markForwarded() {
    return handover.lease().send();
  }

  /**
   * Gives the message back untouched to where it was, which is not a failure. Its throttle tokens
   * are returned, except for those that refills have already made up for.
   *
   * @return completed once others can have it
   */
  public CompletableFuture<Void> release() {
    return broker.release(queue(), id(), leaseToken());
  }

  static List<Dispatcher.LeaseRef> claims(Iterable<Delivery> deliveries) {
    List<Dispatcher.LeaseRef> claims = new java.util.ArrayList<>();
    deliveries.forEach(each -> claims.add(new Dispatcher.LeaseRef(each.id(), each.leaseToken())));
    return claims;
  }

  @Override
  public String toString() {
    return "Delivery[" + queue() + " " + id() + ", " + leaseToken() + "]";
  }
}
