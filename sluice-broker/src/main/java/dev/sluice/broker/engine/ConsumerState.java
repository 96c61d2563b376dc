package dev.sluice.broker.engine;

import dev.sluice.broker.BrokerException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A consumer as the state machine sees it. */
public final class ConsumerState {
  final BrokerQueue line;

  /** Whether a settled message makes room for the next; else the consumer says so itself. */
  public final boolean renewsCredit;

  /** Where deliveries go. */
  public final ConsumerState.DeliveryTarget outlet;

  long credit;

  /** Whether it stands among those of its queue with credit. */
  boolean inTurn;

  boolean closed;

  /** Whether it gets nothing more; it may still settle what it has. */
  boolean drained;

  int inFlight;
  private @Nullable Lease first;

  /** Takes what is delivered; called outside the state machine. */
  public interface DeliveryTarget {
    void deliver(List<PendingDelivery> batch);

    /** Nothing will be delivered any more. */
    void closed(BrokerException why);
  }

  ConsumerState(BrokerQueue line, boolean renewsCredit, ConsumerState.DeliveryTarget outlet) {
    this.line = line;
    this.renewsCredit = renewsCredit;
    this.outlet = outlet;
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
    return "subscriber of " + line + " with " + inFlight + " in flight";
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
