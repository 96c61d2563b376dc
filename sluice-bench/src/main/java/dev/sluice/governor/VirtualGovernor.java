package dev.sluice.governor;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * A governor whose time goes on when told to. It is in this package for the timer, nothing else.
 */
public final class VirtualGovernor implements AutoCloseable {
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
  private final Governor governor;
  private long now;
  private long numbers;

  private record Due(long at, long number, Runnable action) {}

  public VirtualGovernor(BudgetConfig config) {
    governor =
        Governor.create(
            config,
            new GovernorTimer() {
              @Override
              public long now() {
                return now;
              }

              @Override
              public void after(long nanos, Runnable action) {
                VirtualGovernor.this.after(nanos, action);
              }

              @Override
              public void execute(Runnable action) {
                VirtualGovernor.this.after(0, action);
              }

              @Override
              public void close() {
                due.clear();
              }
            });
  }

  public Governor governor() {
    return governor;
  }

  public long now() {
    return now;
  }

  public void after(long nanos, Runnable action) {
    due.add(new Due(now + nanos, numbers++, action));
  }

  /** With all that is due meanwhile, in order, on this thread. */
  public void advance(long nanos) {
    long until = now + nanos;
    for (Due next = due.peek(); next != null && next.at() <= until; next = due.peek()) {
      due.remove();
      now = Math.max(now, next.at());
      next.action().run();
    }
    now = until;
  }

  @Override
  public void close() {
    governor.close();
  }
}
