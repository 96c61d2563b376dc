package dev.sluice.broker;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * A leased message, to be settled before its lease ends.
 *
 * <p>Thread-safe. The futures of {@link #ack}, {@link #nack}, {@link #extend} and {@link #release}
 * complete when the result is as durable as the queue's {@link Durability}, and fail with {@code
 * LEASE_NOT_FOUND} if the lease has ended: another consumer may have the message then.
 *
 * <p>Implemented by Sluice only; may gain methods.
 *
 * @since 0.1
 */
public interface Delivery {
  /**
   * Returns the id of the message, which it keeps as a dead letter and when it is redriven.
   *
   * @return the id that {@link Broker#enqueue} returned
   */
  UUID id();

  /**
   * Returns the queue that the message comes from.
   *
   * @return the name of the queue
   */
  String queue();

  /**
   * Returns the payload.
   *
   * @return the bytes; not a copy
   */
  byte[] payload();

  /**
   * Returns the headers.
   *
   * @return values by name, unmodifiable
   */
  Map<String, String> headers();

  /**
   * Returns the fairness key.
   *
   * @return the key that the producer or {@code on_enqueue} set
   */
  String fairnessKey();

  /**
   * Returns the weight that the fairness key had when the message was enqueued.
   *
   * @return the weight
   */
  int weight();

  /**
   * Returns the throttle keys.
   *
   * @return names of limits, unmodifiable
   */
  Set<String> throttleKeys();

  /**
   * Returns the failed deliveries of the message so far.
   *
   * @return 0 for the first delivery
   */
  int attempts();

  /**
   * Returns when the message was enqueued.
   *
   * @return broker time
   */
  Instant enqueuedAt();

  /**
   * Returns when the lease ends if it is not extended.
   *
   * @return broker time
   */
  Instant leaseEndsAt();

  /**
   * Returns the token of the lease.
   *
   * @return the token
   */
  LeaseToken leaseToken();

  /**
   * Returns why the message is a dead letter.
   *
   * @return empty if it is none
   */
  Optional<DeadLetter> deadLetter();

  /**
   * Settles the message as done: it is not delivered again.
   *
   * @return completes when that is stored
   */
  CompletableFuture<Void> ack();

  /**
   * Settles the message as failed: it is delivered again after the delay of the queue, or becomes a
   * dead letter.
   *
   * @param error the reason; kept with a dead letter
   * @return completes when that is stored
   */
  CompletableFuture<Void> nack(String error);

  /**
   * Settles the message as failed: it is delivered again after {@code delay}, or becomes a dead
   * letter.
   *
   * @param error the reason; kept with a dead letter
   * @param delay up to {@link QueueConfig#MAX_RETRY_DELAY}, instead of the delay of the queue
   * @return completes when that is stored
   */
  CompletableFuture<Void> nack(String error, Duration delay);

  /**
   * Sets the lease to end after {@code leaseTimeout} from now.
   *
   * @param leaseTimeout up to {@link QueueConfig#MAX_LEASE_TIMEOUT}
   * @return completes when the lease is extended
   */
  CompletableFuture<Void> extend(Duration leaseTimeout);

  /**
   * Marks the message as forwarded, right before it goes to its receiver; for a handler that
   * {@linkplain MessageConsumer.Handler#forwards forwards}. From then on its tokens are spent,
   * unless the message is released.
   *
   * @return false if the lease has ended, or this was called before: the message must not be
   *     forwarded then
   */
  boolean markForwarded();

  /**
   * Returns the message untouched to its place in the queue, which is not a failure. Its tokens are
   * returned, except for those that refills have replaced meanwhile.
   *
   * @return completes when other consumers can have the message
   */
  CompletableFuture<Void> release();
}
