package dev.sluice.broker;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Ids of messages that a queue remembers, oldest first. */
final class Dedupe {
  private record Seen(UUID id, long until) {}

  /** The estimated heap of an id besides its text. */
  private static final long HEAP_BYTES = 200;

  private final Map<String, Seen> seen = new LinkedHashMap<>();
  private final HeapRoom room;

  Dedupe(HeapRoom room) {
    this.room = room;
  }

  /** The estimated heap of one id that is remembered. */
  static long heapBytes(String dedupeId) {
    return HEAP_BYTES + 2L * dedupeId.length();
  }

  /** The message that was enqueued with {@code dedupeId} not long ago. */
  @Nullable UUID find(String dedupeId, long now) {
    Seen found = seen.get(dedupeId);
    return found == null || found.until <= now ? null : found.id;
  }

  void remember(String dedupeId, UUID id, long until) {
    if (seen.remove(dedupeId) == null) {
      room.add(heapBytes(dedupeId));
    }
    seen.put(dedupeId, new Seen(id, until));
  }

  /** Forgets up to {@code limit} ids whose time is over. */
  List<String> forget(long now, int limit) {
    List<String> over = new ArrayList<>();
    Iterator<Map.Entry<String, Seen>> oldest = seen.entrySet().iterator();
    while (over.size() < limit && oldest.hasNext()) {
      Map.Entry<String, Seen> next = oldest.next();
      if (next.getValue().until > now) {
        break;
      }
      over.add(next.getKey());
      room.remove(heapBytes(next.getKey()));
      oldest.remove();
    }
    return over;
  }

  /** When the oldest is to be forgotten; {@link Long#MAX_VALUE} without one. */
  long firstDue() {
    return seen.isEmpty() ? Long.MAX_VALUE : seen.values().iterator().next().until;
  }
}
