package dev.sluice.server;

/**
 * What all calls together may hold in memory. Each byte of a request or an answer is there several
 * times while it is turned from one form into the next: hence small parts of the heap.
 *
 * @param inbound requests that are being read
 * @param answers messages that are being received or peeked at
 */
record ServerMemory(ByteBudget inbound, ByteBudget answers) {
  private static final int INBOUND_SHARE = 8;
  private static final int ANSWERS_SHARE = 16;

  static ServerMemory ofHeap() {
    return new ServerMemory(ByteBudget.ofHeap(INBOUND_SHARE), ByteBudget.ofHeap(ANSWERS_SHARE));
  }
}
