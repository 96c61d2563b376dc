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
 * A message that somebody holds, known by its id; from {@link SluiceClient#lease}. Each settlement
 * is a call of its own; for many, a {@link MessageConsumer} is much faster. Futures fail with a
 * {@link SluiceClientException}.
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

  /** Settles messages of {@code queue} by calls. */
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
   * It is done: the message is removed.
   *
   * @return when the server has answered
   */
  public CompletableFuture<Void> ack() {
    return settle(settlement().setAck(Settlement.Ack.getDefaultInstance()));
  }

  /**
   * It failed: it is retried or becomes a dead letter, as its queue says.
   *
   * @param error why
   * @return when the server has answered
   */
  public CompletableFuture<Void> nack(String error) {
    return settle(settlement().setNack(Settlement.Nack.newBuilder().setError(error)));
  }

  /**
   * Reports that the message failed: unless it becomes a dead letter, it is tried again after
   * {@code delay}.
   *
   * @param error why
   * @param delay up to 7 days, instead of the delay of its queue; in whole milliseconds
   * @return when the server has answered
   */
  public CompletableFuture<Void> nack(String error, Duration delay) {
    return settle(
        settlement()
            .setNack(Settlement.Nack.newBuilder().setError(error).setDelayMs(delay.toMillis())));
  }

  /**
   * It takes longer.
   *
   * @param time how long to hold it from now on; whole milliseconds
   * @return when the server has answered
   */
  public CompletableFuture<Void> extend(Duration time) {
    return settle(
        settlement().setExtend(Settlement.Extend.newBuilder().setLeaseTimeoutMs(time.toMillis())));
  }

  /**
   * It was not touched: it is given back at its old position, attempts unchanged.
   *
   * @return when the server has answered
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
