package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Offset;

/** Common steps of the tests of the scheduler. */
final class Schedules {
  private Schedules() {}

  static FairScheduler<String> scheduler(boolean strict) {
    FairScheduler.Builder<String> builder = FairScheduler.builder();
    return strict ? builder.strictOrder().build() : builder.build();
  }

  static void enqueue(FairQueue<String> queue, int items, Placement placement) {
    for (int i = 0; i < items; i++) {
      assertThat(queue.enqueue(placement.fairnessKey() + i, placement).isQueued()).isTrue();
    }
  }

  /** Confirms what can go at {@code nowNanos}, at most {@code most}. */
  static List<ScheduledItem<String>> serve(
      FairScheduler<String> scheduler, int most, long nowNanos) {
    List<ScheduledItem<String>> served = new ArrayList<>();
    while (served.size() < most && scheduler.next(nowNanos) instanceof Next.Offer<String> offer) {
      served.add(offer.confirm());
    }
    return served;
  }

  /** Confirms all that can go at {@code nowNanos}. */
  static List<String> serveAll(FairScheduler<String> scheduler, long nowNanos) {
    return items(serve(scheduler, Integer.MAX_VALUE, nowNanos));
  }

  static List<String> items(List<ScheduledItem<String>> served) {
    return served.stream().map(ScheduledItem::item).toList();
  }

  static Map<String, Integer> perKey(List<ScheduledItem<String>> served) {
    Map<String, Integer> counts = new HashMap<>();
    served.forEach(item -> counts.merge(item.fairnessKey(), 1, Integer::sum));
    return counts;
  }

  static Offset<Integer> within(int items) {
    return Offset.offset(items);
  }
}
