package dev.sluice.governor.internal.monitor;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Sums up the refills of one model and the grants from its waiting list between two reports to the
 * log. Not thread-safe.
 */
public final class RefillLog {
  private final String model;
  // In the order in which they go.
  private final Map<String, Long> served = new LinkedHashMap<>();
  private long refilled;
  private long before;
  private long after;

  public RefillLog(String model, Collection<String> classes) {
    this.model = model;
    reload(classes);
  }

  /** Other classes, perhaps; what was counted stays. */
  public void reload(Collection<String> classes) {
    Map<String, Long> old = new LinkedHashMap<>(served);
    served.clear();
    classes.forEach(each -> served.put(each, 0L));
    old.forEach((name, count) -> served.merge(name, count, Long::sum));
    served.entrySet().removeIf(each -> each.getValue() == 0 && !classes.contains(each.getKey()));
  }

  public void refilled(long tokens, long available) {
    if (refilled == 0) {
      before = available - tokens;
    }
    refilled += tokens;
    after = available;
  }

  public void servedFromLine(String priority) {
    served.merge(priority, 1L, Long::sum);
  }

  /** Returns the lines since the last call. */
  public List<String> lines() {
    List<String> lines = new ArrayList<>();
    if (refilled > 0) {
      lines.add(
          "Refilled %s: +%d tokens (%d → %d)%s"
              .formatted(model, refilled, before, after, meanwhile(before + refilled - after)));
      refilled = 0;
    }
    served.forEach(
        (name, count) -> {
          if (count > 0) {
            lines.add("Processed %d jobs from %s queue".formatted(count, name));
          }
        });
    served.replaceAll((name, count) -> 0L);
    return lines;
  }

  /** Returns the text for tokens taken since, so that the figures add up. */
  private static String meanwhile(long taken) {
    if (taken == 0) {
      return "";
    }
    return taken > 0
        ? ", %d taken since".formatted(taken)
        : ", %d returned since".formatted(-taken);
  }
}
