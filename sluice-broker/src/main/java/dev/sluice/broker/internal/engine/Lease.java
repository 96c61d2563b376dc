package dev.sluice.broker.internal.engine;

import dev.sluice.broker.LeaseToken;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The right to settle a message, until it is due. */
public final class Lease extends EngineTimer {
  private static final int CLAIMED = 1;
  private static final int SENT = 2;

  final MessageEntry entry;
  public final LeaseToken token;

  /** The consumer that holds it; null after a restart. */
  final @Nullable ConsumerState holder;

  private final AtomicInteger marks = new AtomicInteger();

  // Neighbors in the list of the holder's leases.
  @Nullable Lease before;
  @Nullable Lease after;

  // Kept by LeaseLog: the newest row that has it, null once it is over, and its neighbors there.
  @Nullable LeaseRow row;
  @Nullable Lease older;
  @Nullable Lease newer;

  Lease(MessageEntry entry, LeaseToken token, @Nullable ConsumerState holder) {
    this.entry = entry;
    this.token = token;
    this.holder = holder;
  }

  /*
   * The holder's thread and the engine race: either the message is sent, or its lease ends
   * first. CLAIMED says that the holder has taken the message out of its mailbox, SENT that it went
   * to its receiver, out of the broker's reach. The end of the lease sets both marks, so that
   * neither can happen later.
   */

  /** Returns false if the message was claimed before or the lease has ended. */
  public boolean claim() {
    return mark(CLAIMED, CLAIMED);
  }

  /** As {@link #claim}, by a holder that is itself the receiver: also marks the message as sent. */
  public boolean receive() {
    return mark(CLAIMED, CLAIMED | SENT);
  }

  /** Returns false if the message was sent before or the lease has ended: it must not be sent. */
  public boolean send() {
    return mark(SENT, SENT);
  }

  private boolean mark(int unset, int bits) {
    return (marks.getAndUpdate(old -> (old & unset) == 0 ? old | bits : old) & unset) == 0;
  }

  /** The marks that a lease had when it ended. */
  record End(boolean claimed, boolean sent) {}

  /** Sets both marks and returns those from before; meaningful only for the first call. */
  End end() {
    int before = marks.getAndSet(CLAIMED | SENT);
    return new End((before & CLAIMED) != 0, (before & SENT) != 0);
  }

  @Override
  public String toString() {
    return token + " of " + entry;
  }
}
