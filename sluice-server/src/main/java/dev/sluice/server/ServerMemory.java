package dev.sluice.server;

/**
 * What all calls together may hold in memory. Each byte of a request or an answer is there several
 * times while it is turned from one form into the next: hence small parts of the heap.
 *
 * @param inbound requests that are being received, of callers whose key is known
 * @param unread bytes of gRPC requests that the transport has received and no service has read
 * @param answers messages that are being received or peeked at
 */
record ServerMemory(InboundBudget inbound, InboundBudget unread, ByteBudget answers) {
  private static final int INBOUND_SHARE = 8;
  private static final int UNREAD_SHARE = 8;
  private static final int ANSWERS_SHARE = 16;

  /** The memory of a connection at worst, before its client has shown a key. */
  private static final long CONNECTION_BYTES = 128 << 10;

  /** Returns {@code wanted}, or as many connections as the heap has room for. */
  static int connections(int wanted) {
    return (int) Math.min(wanted, Runtime.getRuntime().maxMemory() / CONNECTION_BYTES);
  }

  static ServerMemory ofHeap() {
    return new ServerMemory(
        InboundBudget.ofHeap(INBOUND_SHARE),
        InboundBudget.ofHeap(UNREAD_SHARE),
        ByteBudget.ofHeap(ANSWERS_SHARE));
  }
}
