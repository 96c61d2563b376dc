package dev.sluice.broker.engine;

import dev.sluice.broker.BrokerException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A consumer as the state machine sees it. */
public final class ConsumerState {
  final BrokerQueue queue;

  /** Whether a settled message makes room for the next; else the consumer says so itself. */
  public final boolean renewsCredit;

  /** Where deliveries go. */
  public final ConsumerState.DeliveryTarget target;

  long credit;

  /** Whether it stands among those of its queue with credit. */
  boolean hasTurn;

  boolean closed;

  /** Whether it gets nothing more; it may still settle what it has. */
  boolean drained;

  int inFlight;
  private @Nullable Lease first;

  /** Takes what is delivered; called outside the state machine. */
  public interface DeliveryTarget {
    void deliver(List<PendingDelivery> batch);

    /** Nothing will be delivered any more. */
    void closed(BrokerException reason);
  }

  ConsumerState(BrokerQueue brokerQueue, boolean renewsCredit, ConsumerState.DeliveryTarget outlet) {
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
    return "subscriber of " + queue + " with " + inFlight + " in flight";
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
