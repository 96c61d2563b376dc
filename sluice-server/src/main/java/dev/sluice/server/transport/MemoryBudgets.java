package dev.sluice.server.transport;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.server.TransportConfig;

/**
 * Bounds the memory of all calls together. Each byte of a request or response exists several times
 * while it is converted, so the budgets are small fractions of the heap.
 *
 * @param inbound requests that are being received, of callers whose key is known
 * @param work objects that are made of large requests, until these are answered
 * @param unread bytes of gRPC requests that the transport has received and no service has read
 * @param answers answers that are being made, or wait for their readers
 */
public record MemoryBudgets(
    RequestMemoryBudget inbound,
    RequestMemoryBudget work,
    RequestMemoryBudget unread,
    ResponseMemoryBudget answers) {
  private static final int INBOUND_SHARE = 12;
  private static final int WORK_SHARE = 8;
  private static final int UNREAD_SHARE = 8;
  private static final int ANSWERS_SHARE = 16;

  /** Small, because messages exist in several stages at once: scripts, the log and the disk. */
  private static final int BROKER_SHARE = 16;

  /** The heap of the messages of a request besides its bytes. */
  private static final int MESSAGES_BYTES = RequestSizeLimits.MAX_MESSAGES * 200;

  /** The memory of a connection besides its headers, at worst, before its client shows a key. */
  private static final long CONNECTION_BYTES = 128 << 10;

  /** The copies of a request head that Undertow holds: as received, and its parts. */
  private static final int HEADER_COPIES = 4;

  /** Returns the limit on connections of one wire, or as many as the heap has room for. */
  public static int connections(TransportConfig limits) {
    long bytes = CONNECTION_BYTES + (long) HEADER_COPIES * limits.maxHeaderBytes();
    return (int) Math.min(limits.maxConnections(), Runtime.getRuntime().maxMemory() / bytes);
  }

  /**
   * Returns {@code wanted} with {@code maxInboundBytes} bounded by a share of the heap, but with
   * room for one request of the largest size.
   */
  public static BrokerConfig broker(BrokerConfig wanted, int maxRequestBytes) {
    long request = Math.max(wanted.maxMessageBytes(), (long) maxRequestBytes + MESSAGES_BYTES);
    long most = Math.max(request, Runtime.getRuntime().maxMemory() / BROKER_SHARE);
    return wanted.toBuilder().maxInboundBytes(Math.min(wanted.maxInboundBytes(), most)).build();
  }

  public static MemoryBudgets ofHeap() {
    return new MemoryBudgets(
        RequestMemoryBudget.ofHeap(INBOUND_SHARE),
        RequestMemoryBudget.ofHeap(WORK_SHARE),
        RequestMemoryBudget.ofHeap(UNREAD_SHARE),
        ResponseMemoryBudget.ofHeap(ANSWERS_SHARE));
  }
}
