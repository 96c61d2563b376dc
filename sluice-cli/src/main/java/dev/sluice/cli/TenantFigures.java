package dev.sluice.cli;

import dev.sluice.cli.MessageLog.Passage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What a tenant got of the queue, and what it would have got of one FIFO.
 *
 * @param tenant its name
 * @param count its messages
 * @param again deliveries of what had been delivered before
 * @param waits from arrival to grant
 * @param fifo the same of the FIFO
 */
record TenantFigures(
    String tenant, MessageLog.Count count, long again, WaitFigures waits, WaitFigures fifo) {

  static TenantFigures of(String tenant, MessageLog log, Outage outage) {
    List<Passage> passages = log.passages();
    return new TenantFigures(
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
  static List<Passage> inOneFifo(List<Passage> passages) {
    List<Passage> arrivals = new ArrayList<>(passages);
    arrivals.sort(Comparator.comparingLong(Passage::arrivedMillis));
    long[] grants = passages.stream().mapToLong(Passage::grantedMillis).sorted().toArray();
    List<Passage> fifo = new ArrayList<>();
    for (int i = 0; i < grants.length; i++) {
      Passage arrival = arrivals.get(i);
      fifo.add(new Passage(arrival.tenant(), arrival.arrivedMillis(), grants[i]));
    }
    return fifo;
  }

  private static WaitFigures waits(String tenant, List<Passage> passages, Outage outage) {
    return WaitFigures.of(
        passages.stream()
            .filter(each -> each.tenant().equals(tenant))
            .mapToLong(each -> outage.waited(each.arrivedMillis(), each.grantedMillis())));
  }

  /** How many times shorter its p99 wait is than in the FIFO; times are no finer than 1 ms. */
  double timesShorter() {
    return (double) fifo.p99() / Math.max(1, waits.p99());
  }

  Json json() {
    return Json.object()
        .put("tenant", tenant)
        .put("sent", count.sent())
        .put("acknowledged", count.accepted())
        .put("delivered", count.delivered())
        .put("deliveredAgain", again)
        .put("waitMillis", waits.json())
        .put("fifoWaitMillis", fifo.json());
  }
}
