package dev.sluice.broker.internal.engine;

import dev.sluice.broker.BrokerException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The state of a consumer in the engine. */
public final class ConsumerState {
  final BrokerQueue queue;

  /** Whether a settled message makes room for the next; else the consumer says so itself. */
  public final boolean renewsCredit;

  /** Where deliveries go. */
  public final ConsumerState.DeliveryTarget target;

  long credit;

  /** Whether it is among the consumers of its queue with credit. */
  boolean hasTurn;

  boolean closed;

  /** Whether it receives no more messages; it may still settle those it has. */
  boolean drained;

  int inFlight;
  private @Nullable Lease first;

  /** Receives deliveries; called outside the engine. */
  public interface DeliveryTarget {
    void deliver(List<PendingDelivery> batch);

    /** Called when nothing will be delivered anymore. */
    void closed(BrokerException reason);
  }

  ConsumerState(
      BrokerQueue brokerQueue, boolean renewsCredit, ConsumerState.DeliveryTarget outlet) {
    this.queue = brokerQueue;
    this.renewsCredit = renewsCredit;
    this.target = outlet;
  }

  boolean takesMore() {
    return !closed && !drained;
  }

  void add(Lease lease) {
    lease.after = first;
    if (first != null) {
      first.before = lease;
    }
    first = lease;
    inFlight++;
  }

  void remove(Lease lease) {
    if (lease.before == null) {
      first = lease.after;
    } else {
      lease.before.after = lease.after;
    }
    if (lease.after != null) {
      lease.after.before = lease.before;
    }
    lease.before = null;
    lease.after = null;
    inFlight--;
  }

  @Override
  public String toString() {
    return "consumer of " + queue + " with " + inFlight + " in flight";
  }

  /** Its leases, the newest first. */
  public List<Lease> leases() {
    List<Lease> all = new ArrayList<>();
    for (Lease lease = first; lease != null; lease = lease.after) {
      all.add(lease);
    }
    return all;
  }
}
