package dev.sluice.broker.internal.accounting;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Ids of messages that a queue remembers, oldest first. */
public final class DedupeWindow {
  private record Seen(UUID id, long until) {}

  /** The estimated heap of an id besides its text. */
  private static final long HEAP_BYTES = 200;

  private final Map<String, Seen> seen = new LinkedHashMap<>();
  private final QueueHeapUsage heap;

  public DedupeWindow(QueueHeapUsage heap) {
    this.heap = heap;
  }

  /** The estimated heap of one id that is remembered. */
  public static long heapBytes(String dedupeId) {
    return HEAP_BYTES + 2L * dedupeId.length();
  }

  /** The message that was enqueued with {@code dedupeId} not long ago. */
  public @Nullable UUID find(String dedupeId, long now) {
    Seen found = seen.get(dedupeId);
    return found == null || found.until <= now ? null : found.id;
  }

  public void remember(String dedupeId, UUID id, long until) {
    if (seen.remove(dedupeId) == null) {
      heap.add(heapBytes(dedupeId));
    }
    seen.put(dedupeId, new Seen(id, until));
  }

  /** Forgets up to {@code limit} ids whose time is over. */
  public List<String> forget(long now, int limit) {
    List<String> over = new ArrayList<>();
    Iterator<Map.Entry<String, Seen>> oldest = seen.entrySet().iterator();
    while (over.size() < limit && oldest.hasNext()) {
      Map.Entry<String, Seen> next = oldest.next();
      if (next.getValue().until > now) {
        break;
      }
      over.add(next.getKey());
      heap.remove(heapBytes(next.getKey()));
      oldest.remove();
    }
    return over;
  }

  /** When the oldest is to be forgotten; {@link Long#MAX_VALUE} without one. */
  public long firstDue() {
    return seen.isEmpty() ? Long.MAX_VALUE : seen.values().iterator().next().until;
  }
}
