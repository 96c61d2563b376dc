package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The results of a tenant, and those that it would have had in one FIFO.
 *
 * @param tenant the tenant's name
 * @param count its messages
 * @param again redeliveries
 * @param waits times from arrival to grant
 * @param fifo the same times in the FIFO
 */
public record TenantStats(
    String tenant, MessageLog.Count count, long again, WaitStats waits, WaitStats fifo) {

  public static TenantStats of(String tenant, MessageLog log, Downtime outage) {
    List<MessageLog.DeliveryRecord> passages = log.passages();
    return new TenantStats(
        tenant,
        log.count(tenant),
        log.again(tenant),
        waits(tenant, passages, outage),
        waits(tenant, inOneFifo(passages), outage));
  }

  /**
   * The same arrivals and the same grants, handed out in the order of arrival. A FIFO could have
   * done that: at any time there have been no more grants than arrivals.
   */
  public static List<MessageLog.DeliveryRecord> inOneFifo(
      List<MessageLog.DeliveryRecord> passages) {
    List<MessageLog.DeliveryRecord> arrivals = new ArrayList<>(passages);
    arrivals.sort(Comparator.comparingLong(MessageLog.DeliveryRecord::arrivedMillis));
    long[] grants =
        passages.stream().mapToLong(MessageLog.DeliveryRecord::grantedMillis).sorted().toArray();
    List<MessageLog.DeliveryRecord> fifo = new ArrayList<>();
    for (int i = 0; i < grants.length; i++) {
      MessageLog.DeliveryRecord arrival = arrivals.get(i);
      fifo.add(new MessageLog.DeliveryRecord(arrival.tenant(), arrival.arrivedMillis(), grants[i]));
    }
    return fifo;
  }

  private static WaitStats waits(
      String tenant, List<MessageLog.DeliveryRecord> passages, Downtime outage) {
    return WaitStats.of(
        passages.stream()
            .filter(each -> each.tenant().equals(tenant))
            .mapToLong(each -> outage.waited(each.arrivedMillis(), each.grantedMillis())));
  }

  /** Returns how many times shorter the p99 wait is than in the FIFO, with a resolution of 1 ms. */
  public double timesShorter() {
    return (double) fifo.p99() / Math.max(1, waits.p99());
  }

  JsonWriter json() {
    return JsonWriter.object()
        .put("tenant", tenant)
        .put("sent", count.sent())
        .put("acknowledged", count.accepted())
        .put("delivered", count.delivered())
        .put("deliveredAgain", again)
        .put("waitMillis", waits.json())
        .put("fifoWaitMillis", fifo.json());
  }
}
