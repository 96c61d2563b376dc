package dev.sluice.bench;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.GovernorTimer;
import java.util.Comparator;
import java.util.PriorityQueue;

/** A governor whose time goes on when told to. */
final class VirtualGovernor implements AutoCloseable {
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
  private final Governor governor;
  private long now;
  private long numbers;

  private record Due(long at, long number, Runnable action) {}

  VirtualGovernor(BudgetConfig config) {
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

  Governor governor() {
    return governor;
  }

  long now() {
    return now;
  }

  void after(long nanos, Runnable action) {
    due.add(new Due(now + nanos, numbers++, action));
  }

  /** With all that is due meanwhile, in order, on this thread. */
  void advance(long nanos) {
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
