package dev.sluice.cli.demo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The history of the demo's messages as its clients saw it. Thread-safe.
 *
 * <p>Times are the server's, in milliseconds: that of a message's arrival and that of each lease,
 * which is when the limit was charged.
 */
public final class MessageLog {
  // Guarded by this.
  private final Map<String, MessageLog.MessageRecord> entries = new LinkedHashMap<>();
  private final Map<String, Count> counts = new LinkedHashMap<>();
  private final List<Long> grants = new ArrayList<>();
  private long again;
  private long returned;

  /** A sent message, and what happened to it. */
  private static final class MessageRecord {
    private final String tenant;
    private boolean accepted;
    private boolean acked;
    private long arrivedMillis;
    private long grantedMillis;
    private int deliveries;

    MessageRecord(String tenant) {
      this.tenant = tenant;
    }
  }

  /**
   * Totals of a tenant so far.
   *
   * @param sent messages passed to the client
   * @param accepted messages confirmed by the server
   * @param delivered messages delivered at least once
   * @param lastWaitMillis wait of the latest delivered message
   */
  public record Count(long sent, long accepted, long delivered, long lastWaitMillis) {
    static final Count NONE = new Count(0, 0, 0, 0);

    public long unanswered() {
      return sent - accepted;
    }
  }

  /** A message's way through the queue, to the first delivery that was seen. */
  public record DeliveryRecord(String tenant, long arrivedMillis, long grantedMillis) {}

  /**
   * The balance of all messages.
   *
   * @param accepted confirmed by the server
   * @param lost of these, never delivered
   * @param again deliveries of messages that had been delivered before
   * @param returned of these, after the server had confirmed the ack
   */
  public record MessageTotals(long accepted, long lost, long again, long returned) {}

  public synchronized void sent(String tenant, String id) {
    entries.put(id, new MessageLog.MessageRecord(tenant));
    Count count = count(tenant);
    counts.put(
        tenant, new Count(count.sent + 1, count.accepted, count.delivered, count.lastWaitMillis));
  }

  public synchronized void accepted(String id) {
    MessageLog.MessageRecord entry = entry(id);
    entry.accepted = true;
    Count count = count(entry.tenant);
    counts.put(
        entry.tenant,
        new Count(count.sent, count.accepted + 1, count.delivered, count.lastWaitMillis));
  }

  public synchronized void delivered(String id, long arrivedMillis, long grantedMillis) {
    MessageLog.MessageRecord entry = entry(id);
    grants.add(grantedMillis);
    if (entry.deliveries++ > 0) {
      again++;
      returned += entry.acked ? 1 : 0;
      return;
    }
    entry.arrivedMillis = arrivedMillis;
    entry.grantedMillis = grantedMillis;
    Count count = count(entry.tenant);
    counts.put(
        entry.tenant,
        new Count(count.sent, count.accepted, count.delivered + 1, grantedMillis - arrivedMillis));
  }

  /** The server has confirmed it. */
  public synchronized void acked(String id) {
    entry(id).acked = true;
  }

  private MessageLog.MessageRecord entry(String id) {
    MessageLog.MessageRecord entry = entries.get(id);
    if (entry == null) {
      throw new IllegalArgumentException("no such message was sent: " + id);
    }
    return entry;
  }

  public synchronized Count count(String tenant) {
    return counts.getOrDefault(tenant, Count.NONE);
  }

  /** Every charge of the limit, sorted. */
  public synchronized long[] grants() {
    return grants.stream().mapToLong(Long::longValue).sorted().toArray();
  }

  /** Returns the number of grants, without sorting them. */
  synchronized long granted() {
    return grants.size();
  }

  /** Delivered, and the ack not confirmed. */
  public synchronized long unsettled() {
    return entries.values().stream().filter(entry -> entry.deliveries > 0 && !entry.acked).count();
  }

  /** Returns a record for every delivered message. */
  public synchronized List<MessageLog.DeliveryRecord> passages() {
    return entries.values().stream()
        .filter(entry -> entry.deliveries > 0)
        .map(
            entry ->
                new MessageLog.DeliveryRecord(
                    entry.tenant, entry.arrivedMillis, entry.grantedMillis))
        .toList();
  }

  public synchronized MessageLog.MessageTotals balance() {
    long accepted = entries.values().stream().filter(entry -> entry.accepted).count();
    long lost =
        entries.values().stream().filter(entry -> entry.accepted && entry.deliveries == 0).count();
    return new MessageLog.MessageTotals(accepted, lost, again, returned);
  }

  /** Returns the number of redeliveries to a tenant. */
  public synchronized long again(String tenant) {
    return entries.values().stream()
        .filter(entry -> entry.tenant.equals(tenant) && entry.deliveries > 1)
        .mapToLong(entry -> entry.deliveries - 1)
        .sum();
  }
}
