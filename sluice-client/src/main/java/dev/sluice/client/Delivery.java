package dev.sluice.client;

import dev.sluice.client.internal.Settler;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A message that whoever received it holds until it settles it or the lease ends.
 *
 * <p>Settling does not block: the futures complete when the server has answered, on a thread of the
 * client that must not be held up. A settlement whose answer was lost with the connection is sent
 * again on the next one; {@code NOT_FOUND} then says that it had been done, or that the lease has
 * ended and the message is delivered again.
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
   * The server's name for it.
   *
   * @return the id
   */
  public String id() {
    return wire.getId();
  }

  /**
   * Proves who holds it; for {@link SluiceClient#lease}.
   *
   * @return the lease
   */
  public String leaseToken() {
    return wire.getLeaseToken();
  }

  /**
   * What was sent.
   *
   * @return a copy
   */
  public byte[] payload() {
    return wire.getPayload().toByteArray();
  }

  /**
   * What was sent, as UTF-8.
   *
   * @return the text
   */
  public String text() {
    return wire.getPayload().toStringUtf8();
  }

  /**
   * What was sent with it.
   *
   * @return the headers
   */
  public Map<String, String> headers() {
    return wire.getHeadersMap();
  }

  /**
   * Whose turn it took.
   *
   * @return the fairness key
   */
  public String fairnessKey() {
    return wire.getFairnessKey();
  }

  /**
   * How many turns its key has for one of weight 1.
   *
   * @return the weight
   */
  public int weight() {
    return wire.getWeight();
  }

  /**
   * Of what tokens were taken.
   *
   * @return the throttle keys
   */
  public List<String> throttleKeys() {
    return List.copyOf(wire.getThrottleKeysList());
  }

  /**
   * How often it has failed before.
   *
   * @return 0 at first
   */
  public int attempts() {
    return wire.getAttempts();
  }

  /**
   * When the server got it.
   *
   * @return the instant, by the server's clock
   */
  public Instant enqueuedAt() {
    return Instant.ofEpochMilli(wire.getEnqueuedAtMs());
  }

  /**
   * Until when it was held as it was delivered; {@link #extend} is not reflected here.
   *
   * @return the instant, by the server's clock
   */
  public Instant leaseEndsAt() {
    return Instant.ofEpochMilli(wire.getLeaseEndsAtMs());
  }

  /**
   * Why it is in a dead letter queue.
   *
   * @return empty in other queues
   */
  public Optional<DeadLetter> deadLetter() {
    return wire.hasDeadLetter()
        ? Optional.of(DeadLetter.of(wire.getDeadLetter()))
        : Optional.empty();
  }

  /**
   * It is done: the message is removed.
   *
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> ack() {
    return held().ack();
  }

  /**
   * It failed: it is retried or becomes a dead letter, as its queue says.
   *
   * @param error why
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> nack(String error) {
    return held().nack(error);
  }

  /**
   * Reports that the message failed: unless it becomes a dead letter, it is tried again after
   * {@code delay}.
   *
   * @param error why
   * @param delay up to 7 days, instead of the delay of its queue; in whole milliseconds
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return held().nack(error, delay);
  }

  /**
   * It takes longer.
   *
   * @param time how long to hold it from now on; whole milliseconds
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> extend(Duration time) {
    return held().extend(time);
  }

  /**
   * It was not touched: it is given back at its old position, attempts unchanged, with the tokens
   * of its throttle keys.
   *
   * @return fails with a {@link SluiceClientException}
   */
  public CompletableFuture<Void> release() {
    return held().release();
  }

  private LeaseHandle held() {
    return new LeaseHandle(settler, wire.getId(), wire.getLeaseToken());
  }
}
