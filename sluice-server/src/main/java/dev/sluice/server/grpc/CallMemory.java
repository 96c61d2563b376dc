package dev.sluice.server.grpc;

import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.transport.RequestMemoryBudget;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/** Counts the bytes of one call. */
interface CallMemory {
  /** The overhead of each piece in which gRPC buffers an arriving message. */
  long PIECE_BYTES = 256;

  /** Says that a budget is full. */
  Status NO_ROOM = ResponseMemoryBudget.exhausted("requests").toStatus().getStatus();

  /**
   * Returns why there is no room for one more call; null if there is.
   *
   * @param headerBytes the headers that gRPC keeps as long as the call is open
   * @param evict ends the call when it has to make room for others
   */
  @Nullable Status open(long headerBytes, Runnable evict);

  /** Returns why there is no room for {@code bytes} more; null if there is. */
  @Nullable Status take(long bytes);

  void give(long bytes);

  /** Takes memory for the parsed request; throws if there is none. */
  ConcurrencyQuota.Hold work(long bytes);

  /** Sets whether nothing of the request is arriving now. */
  void idle(boolean now);

  /**
   * All of the request has arrived. Returns false if it had to make room for others before: then it
   * must be refused, because nothing counts its bytes.
   */
  boolean complete();

  void close();

  /** Counts a call with a key in the budgets of its connection and account. */
  record Budgeted(RequestMemoryBudget.Reservation part, RequestMemoryBudget.Reservation work)
      implements CallMemory {
    /** The cost of an open call besides its request and its headers. */
    private static final long CALL_BYTES = 4 << 10;

    @Override
    public @Nullable Status open(long headerBytes, Runnable evict) {
      part.evictBy(evict);
      return take(CALL_BYTES + headerBytes);
    }

    @Override
    public @Nullable Status take(long bytes) {
      return part.take(bytes) ? null : NO_ROOM;
    }

    @Override
    public void give(long bytes) {
      part.give(bytes);
    }

    @Override
    public void idle(boolean now) {
      part.idle(now);
    }

    @Override
    public boolean complete() {
      return part.complete();
    }

    @Override
    public ConcurrencyQuota.Hold work(long bytes) {
      return work.hold(bytes);
    }

    @Override
    public void close() {
      part.close();
      work.close();
    }
  }

  /** Bounds one small request by itself. Used by the connection's thread alone. */
  final class Small implements CallMemory {
    /** The largest request of a caller who needs no key. */
    private static final int MAX_BYTES = 1_024;

    private static final int MAX_HEADER_BYTES = 1_024;
    private static final Status TOO_LARGE_HEADERS =
        Status.RESOURCE_EXHAUSTED.withDescription(
            ":authority and grpc-accept-encoding of a call without a key must have at most %d bytes"
                .formatted(MAX_HEADER_BYTES));

    private long taken;

    @Override
    public @Nullable Status open(long headerBytes, Runnable evict) {
      return headerBytes <= MAX_HEADER_BYTES ? null : TOO_LARGE_HEADERS;
    }

    @Override
    public @Nullable Status take(long bytes) {
      taken += bytes - PIECE_BYTES;
      return taken <= MAX_BYTES
          ? null
          : Status.RESOURCE_EXHAUSTED.withDescription(
              "a request without a key must have at most %d bytes".formatted(MAX_BYTES));
    }

    @Override
    public void give(long bytes) {}

    /** A small request makes small objects. */
    @Override
    public ConcurrencyQuota.Hold work(long bytes) {
      return () -> {};
    }

    @Override
    public void idle(boolean now) {}

    @Override
    public boolean complete() {
      return true;
    }

    @Override
    public void close() {}
  }
}
