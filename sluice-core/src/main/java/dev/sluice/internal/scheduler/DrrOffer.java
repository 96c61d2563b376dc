package dev.sluice.internal.scheduler;

import dev.sluice.Next;
import dev.sluice.ScheduledItem;

/** An offer of the scheduler; valid until it is answered, while nothing else may change. */
public final class DrrOffer<T> implements Next.Offer<T> {
  private final DrrScheduler<T> scheduler;
  private final SubQueue sub;
  private final QueuedItem<T> item;
  private final long nowNanos;

  @SuppressWarnings("unchecked") // a scheduler's queues hold nothing but its own items
  DrrOffer(DrrScheduler<T> scheduler, SubQueue sub, long nowNanos) {
    this.scheduler = scheduler;
    this.sub = sub;
    this.item = (QueuedItem<T>) sub.head();
    this.nowNanos = nowNanos;
  }

  @Override
  public T item() {
    return item.item();
  }

  @Override
  public ScheduledItem<T> scheduledItem() {
    return item;
  }

  @Override
  public String queue() {
    return sub.flow.queue.name;
  }

  @Override
  public ScheduledItem<T> confirm() {
    scheduler.answer(this);
    sub.flow.queue.confirm(sub, nowNanos);
    return item;
  }

  @Override
  public void decline() {
    scheduler.answer(this);
  }

  @Override
  public String toString() {
    return "Offer[" + item + "]";
  }
}
