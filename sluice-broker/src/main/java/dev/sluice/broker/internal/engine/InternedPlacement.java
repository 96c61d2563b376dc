package dev.sluice.broker.internal.engine;

import dev.sluice.Placement;
import dev.sluice.broker.internal.accounting.FairnessKeyCounters;
import dev.sluice.broker.internal.store.ByteReader;
import dev.sluice.broker.internal.store.ByteWriter;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Fairness key, weight, priority and throttle keys, kept once for all messages of a queue that have
 * them in common.
 */
public final class InternedPlacement {
  /**
   * The values by which placements are equal. Specs have an order so that a hash map finds one in
   * logarithmic time even if producers choose keys whose hashes collide.
   *
   * @param throttleKeys tokens by throttle key
   */
  public record Spec(
      String fairnessKey, int weight, int priority, SortedMap<String, Long> throttleKeys)
      implements Comparable<Spec> {
    /** The estimated heap of a placement besides its messages and texts. */
    private static final long HEAP_BYTES = 600;

    /** The estimated heap of each of its throttle keys besides their text. */
    private static final long THROTTLE_BYTES = 500;

    long heapBytes() {
      long bytes = HEAP_BYTES + 4L * fairnessKey.length();
      for (String throttle : throttleKeys.keySet()) {
        bytes += THROTTLE_BYTES + 4L * throttle.length();
      }
      return bytes;
    }

    @Override
    public int compareTo(Spec other) {
      int order = fairnessKey.compareTo(other.fairnessKey);
      order = order != 0 ? order : Integer.compare(weight, other.weight);
      order = order != 0 ? order : Integer.compare(priority, other.priority);
      return order != 0 ? order : compare(throttleKeys, other.throttleKeys);
    }

    private static int compare(SortedMap<String, Long> some, SortedMap<String, Long> others) {
      int order = Integer.compare(some.size(), others.size());
      Iterator<Map.Entry<String, Long>> other = others.entrySet().iterator();
      for (Map.Entry<String, Long> each : some.entrySet()) {
        if (order != 0) {
          break;
        }
        Map.Entry<String, Long> beside = other.next();
        order = each.getKey().compareTo(beside.getKey());
        order = order != 0 ? order : each.getValue().compareTo(beside.getValue());
      }
      return order;
    }
  }

  public final Spec spec;

  /** The messages of the same fairness key. */
  final FairnessKeyCounters count;

  private final Placement placement;

  /** The stored form. */
  public final byte[] encoded;

  /** The number of messages with this placement. */
  long users;

  InternedPlacement(Spec spec, FairnessKeyCounters count) {
    this.spec = spec;
    this.count = count;
    Placement unweighted =
        Placement.of(spec.fairnessKey)
            .withPriority(spec.priority)
            .withThrottleKeys(spec.throttleKeys);
    this.placement = spec.weight == 0 ? unweighted : unweighted.withWeight(spec.weight);
    this.encoded = encode(spec);
  }

  /** Where messages go in the scheduler, with the weight that their key has by now. */
  Placement placement() {
    return count.weight == spec.weight ? placement : placement.withWeight(count.weight);
  }

  private static byte[] encode(Spec spec) {
    ByteWriter out = new ByteWriter(32 + spec.fairnessKey.length());
    out.text(spec.fairnessKey)
        .varint(spec.weight)
        .varint(spec.priority)
        .varint(spec.throttleKeys.size());
    spec.throttleKeys.forEach((name, tokens) -> out.text(name).varint(tokens));
    return out.toBytes();
  }

  public static Spec decode(ByteReader in) {
    String key = in.text();
    int weight = in.varint32();
    int priority = in.varint32();
    int count = in.varint32();
    if (count == 0) {
      return new Spec(key, weight, priority, Collections.emptySortedMap());
    }
    SortedMap<String, Long> throttles = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      throttles.put(in.text(), in.varint());
    }
    return new Spec(key, weight, priority, Collections.unmodifiableSortedMap(throttles));
  }
}
