package dev.sluice.client;

import dev.sluice.client.internal.Settler;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A leased message: its receiver has the right to settle it until the lease ends. Thread-safe.
 *
 * <p>Settling does not block: the futures complete when the server answers, on a client thread
 * where dependents must not block. If the connection is lost, a consumer sends unanswered
 * settlements again; {@code NOT_FOUND} then means that the message was settled before, or that the
 * lease has ended and the message is delivered again.
 *
 * @since 0.1
 */
public final class Delivery {
  private final String queue;
  private final dev.sluice.proto.v1.Delivery wire;
  private final Settler settler;

  Delivery(String queue, dev.sluice.proto.v1.Delivery wire, Settler settler) {
    this.queue = queue;
    this.wire = wire;
    this.settler = settler;
  }

  /**
   * Returns the name of the queue that delivered the message.
   *
   * @return the queue
   */
  public String queue() {
    return queue;
  }

  /**
   * Returns the message's id.
   *
   * @return the id
   */
  public String id() {
    return wire.getId();
  }

  /**
   * Returns the token of the lease; for {@link SluiceClient#leaseHandle}.
   *
   * @return the lease token
   */
  public String leaseToken() {
    return wire.getLeaseToken();
  }

  /**
   * Returns the payload.
   *
   * @return a copy
   */
  public byte[] payload() {
    return wire.getPayload().toByteArray();
  }

  /**
   * Returns the payload decoded as UTF-8.
   *
   * @return the text
   */
  public String text() {
    return wire.getPayload().toStringUtf8();
  }

  /**
   * Returns the headers.
   *
   * @return the headers
   */
  public Map<String, String> headers() {
    return wire.getHeadersMap();
  }

  /**
   * Returns the fairness key.
   *
   * @return the fairness key
   */
  public String fairnessKey() {
    return wire.getFairnessKey();
  }

  /**
   * Returns the share of the fairness key relative to other keys.
   *
   * @return the weight
   */
  public int weight() {
    return wire.getWeight();
  }

  /**
   * Returns the throttle keys, whose tokens were taken.
   *
   * @return the throttle keys
   */
  public List<String> throttleKeys() {
    return List.copyOf(wire.getThrottleKeysList());
  }

  /**
   * Returns the number of failed deliveries before this one.
   *
   * @return 0 at first
   */
  public int attempts() {
    return wire.getAttempts();
  }

  /**
   * Returns when the server received the message.
   *
   * @return the instant, by the server's clock
   */
  public Instant enqueuedAt() {
    return Instant.ofEpochMilli(wire.getEnqueuedAtMs());
  }

  /**
   * Returns when the lease of the delivery ends, without later calls of {@link #extend}.
   *
   * @return the instant, by the server's clock
   */
  public Instant leaseEndsAt() {
    return Instant.ofEpochMilli(wire.getLeaseEndsAtMs());
  }

  /**
   * Returns why the message is in a dead-letter queue.
   *
   * @return empty in other queues
   */
  public Optional<DeadLetter> deadLetter() {
    return wire.hasDeadLetter()
        ? Optional.of(DeadLetter.of(wire.getDeadLetter()))
        : Optional.empty();
  }

  /**
   * Acknowledges the message, which deletes it.
   *
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> ack() {
    return handle().ack();
  }

  /**
   * Reports that the message failed: it is retried or becomes a dead letter, as its queue is
   * configured.
   *
   * @param error the reason
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> nack(String error) {
    return handle().nack(error);
  }

  /**
   * Reports that the message failed: unless it becomes a dead letter, it is retried after {@code
   * delay}.
   *
   * @param error the reason
   * @param delay up to 7 days, instead of the delay of its queue; in whole milliseconds
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return handle().nack(error, delay);
  }

  /**
   * Extends the lease, for processing that takes longer.
   *
   * @param leaseTimeout the new lease timeout, from now; whole milliseconds
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> extend(Duration leaseTimeout) {
    return handle().extend(leaseTimeout);
  }

  /**
   * Returns the message to its old position in the queue, with unchanged attempts, and the tokens
   * to its throttle keys.
   *
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> release() {
    return handle().release();
  }

  private LeaseHandle handle() {
    return new LeaseHandle(settler, wire.getId(), wire.getLeaseToken());
  }
}
