package dev.sluice.server.grpc.services;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.function.BooleanSupplier;

/**
 * Asks the client of a stream for its next requests: a few ahead, as long as it reads its answers
 * and there is room for what it asks. What it sends beyond waits with the client.
 */
final class StreamFlowControl {
  /** So that a request is there when the one before is done. */
  private static final int AHEAD = 4;

  private final ServerCallStreamObserver<?> call;
  private final BooleanSupplier room;

  // Guarded by this.
  private int asked;

  /** {@code room} is asked with the lock of this held. */
  StreamFlowControl(ServerCallStreamObserver<?> call, BooleanSupplier room) {
    this.call = call;
    this.room = room;
    call.disableAutoRequest();
  }

  /** One of those that were asked for has come. */
  synchronized void arrived() {
    asked--;
  }

  /** To be called whenever there may be room again, and when the client has read. */
  synchronized void ask() {
    int more = AHEAD - asked;
    if (more > 0 && call.isReady() && room.getAsBoolean()) {
      asked += more;
      call.request(more);
    }
  }
}
