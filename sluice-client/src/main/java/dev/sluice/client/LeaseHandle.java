package dev.sluice.client;

import dev.sluice.client.internal.Errors;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.Settler;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.SettleResponse;
import dev.sluice.proto.v1.Settlement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Settles a leased message by its id; from {@link SluiceClient#leaseHandle}. Thread-safe. Each
 * settlement is a call of its own; a {@link MessageConsumer} is much faster for many messages.
 * Futures fail with {@link SluiceClientException}.
 *
 * @since 0.1
 */
public final class LeaseHandle {
  private final Settler settler;
  private final String id;
  private final String token;

  LeaseHandle(Settler settler, String id, String token) {
    this.settler = settler;
    this.id = id;
    this.token = token;
  }

  /** Returns a settler that makes one call per settlement. */
  static Settler byCalls(GrpcConnection connection, String queue) {
    return settlement ->
        connection
            .call(
                QueuesGrpc.getSettleMethod(),
                SettleRequest.newBuilder().setQueue(queue).addSettlements(settlement).build())
            .thenCompose(LeaseHandle::outcome);
  }

  private static CompletableFuture<Void> outcome(SettleResponse response) {
    SettleResponse.Result result = response.getResults(0);
    return result.hasError()
        ? CompletableFuture.failedFuture(Errors.of(result.getError()))
        : CompletableFuture.completedFuture(null);
  }

  /**
   * Acknowledges the message, which deletes it.
   *
   * @return completes when the server answers
   */
  public CompletableFuture<Void> ack() {
    return settle(settlement().setAck(Settlement.Ack.getDefaultInstance()));
  }

  /**
   * Reports that the message failed: it is retried or becomes a dead letter, as its queue is
   * configured.
   *
   * @param error the reason
   * @return completes when the server answers
   */
  public CompletableFuture<Void> nack(String error) {
    return settle(settlement().setNack(Settlement.Nack.newBuilder().setError(error)));
  }

  /**
   * Reports that the message failed: unless it becomes a dead letter, it is retried after {@code
   * delay}.
   *
   * @param error the reason
   * @param delay up to 7 days, instead of the delay of its queue; in whole milliseconds
   * @return completes when the server answers
   */
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return settle(
        settlement()
            .setNack(Settlement.Nack.newBuilder().setError(error).setDelayMs(delay.toMillis())));
  }

  /**
   * Extends the lease, for processing that takes longer.
   *
   * @param leaseTimeout the new lease timeout, from now; whole milliseconds
   * @return completes when the server answers
   */
  public CompletableFuture<Void> extend(Duration leaseTimeout) {
    return settle(
        settlement()
            .setExtend(Settlement.Extend.newBuilder().setLeaseTimeoutMs(leaseTimeout.toMillis())));
  }

  /**
   * Returns the message to its old position in the queue, with unchanged attempts.
   *
   * @return completes when the server answers
   */
  public CompletableFuture<Void> release() {
    return settle(settlement().setRelease(Settlement.Release.getDefaultInstance()));
  }

  private Settlement.Builder settlement() {
    return Settlement.newBuilder().setId(id).setLeaseToken(token);
  }

  private CompletableFuture<Void> settle(Settlement.Builder settlement) {
    return settler.settle(settlement.build());
  }
}
