package dev.sluice.server.grpc.services;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.function.BooleanSupplier;

/**
 * Requests the next messages of a client's stream: a few ahead, while the client reads its
 * responses and there is memory. HTTP/2 flow control holds back the others in the client.
 */
final class StreamFlowControl {
  /** The requests asked for in advance, so that one is available when the previous one is done. */
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

  /** Records the arrival of a request that was asked for. */
  synchronized void arrived() {
    asked--;
  }

  /** Asks for more requests; call it when memory may be free again and when the client has read. */
  synchronized void ask() {
    int more = AHEAD - asked;
    if (more > 0 && call.isReady() && room.getAsBoolean()) {
      asked += more;
      call.request(more);
    }
  }
}
