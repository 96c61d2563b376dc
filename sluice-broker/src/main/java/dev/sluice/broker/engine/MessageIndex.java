package dev.sluice.broker.engine;

import dev.sluice.broker.store.MessageId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Every message there is, by its sequence number and by its id.
 *
 * <p>Numbers are handed out in order, so messages lie in pages of neighbors: a few bytes each, and
 * the first page tells the lowest number in use. An id has the number under which the message was
 * stored first. Numbers are never used again, so that number is either the one that the message has
 * still, or it leads to a message that has moved, and to no other.
 */
public final class MessageIndex {
  private static final int PAGE_BITS = 6;
  private static final int PAGE_SIZE = 1 << PAGE_BITS;

  private static final class Page {
    final @Nullable MessageEntry[] entries = new MessageEntry[PAGE_SIZE];
    int used;
  }

  private final Map<Long, Page> pages = new LinkedHashMap<>();

  /** A message that moves again is in it twice until its old entry is removed. */
  private final MovedMessageIndex moved = new MovedMessageIndex();

  private long size;

  public long size() {
    return size;
  }

  /** Adds {@code entry}, whose number is higher than any before. */
  void add(MessageEntry entry) {
    Page page = pages.computeIfAbsent(pageOf(entry.sequence), absent -> new Page());
    page.entries[slotOf(entry.sequence)] = entry;
    page.used++;
    size++;
    if (entry instanceof MovedMessageEntry next) {
      moved.add(next);
    }
  }

  public @Nullable MessageEntry get(long sequence) {
    Page page = pages.get(pageOf(sequence));
    return page == null ? null : page.entries[slotOf(sequence)];
  }

  /** Returns the message of that id; null if it is gone, or never was there. */
  public @Nullable MessageEntry get(UUID id) {
    if (!MessageId.isValid(id)) {
      return null;
    }
    long sequence = MessageId.sequence(id);
    MessageEntry there = get(sequence);
    MessageEntry found = there == null ? moved.get(sequence) : there;
    return found != null && found.id().equals(id) ? found : null;
  }

  void remove(MessageEntry entry) {
    Long number = pageOf(entry.sequence);
    Page page = pages.get(number);
    if (page == null || page.entries[slotOf(entry.sequence)] != entry) {
      throw new IllegalStateException("not in the index: " + entry);
    }
    page.entries[slotOf(entry.sequence)] = null;
    size--;
    if (--page.used == 0) {
      pages.remove(number);
    }
    if (entry instanceof MovedMessageEntry last) {
      moved.remove(last);
    }
  }

  /** No message has a lower number, nor will one have that. */
  long lowWaterMark(long nextSequence) {
    return pages.isEmpty() ? nextSequence : pages.keySet().iterator().next() << PAGE_BITS;
  }

  /** All messages that {@code filter} accepts, from the lowest number on. */
  public List<MessageEntry> find(Predicate<MessageEntry> filter) {
    return find(0, Integer.MAX_VALUE, filter);
  }

  /** Up to {@code limit} messages that {@code filter} accepts, from number {@code from} on. */
  public List<MessageEntry> find(long from, int limit, Predicate<MessageEntry> filter) {
    List<MessageEntry> found = new ArrayList<>();
    for (Map.Entry<Long, Page> page : pages.entrySet()) {
      if (page.getKey() < pageOf(from)) {
        continue;
      }
      for (MessageEntry entry : page.getValue().entries) {
        if (entry != null && entry.sequence >= from && filter.test(entry)) {
          found.add(entry);
          if (found.size() == limit) {
            return found;
          }
        }
      }
    }
    return found;
  }

  private static long pageOf(long sequence) {
    return sequence >>> PAGE_BITS;
  }

  private static int slotOf(long sequence) {
    return (int) sequence & (PAGE_SIZE - 1);
  }
}
