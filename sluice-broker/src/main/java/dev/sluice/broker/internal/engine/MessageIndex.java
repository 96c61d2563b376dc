package dev.sluice.broker.internal.engine;

import dev.sluice.broker.internal.store.MessageId;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
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

  /** The most messages that one {@link #search} looks at: other work of the engine waits for it. */
  public static final int MAX_VISITS = 10_000;

  private static final class Page {
    final @Nullable MessageEntry[] entries = new MessageEntry[PAGE_SIZE];
    int used;
  }

  private final NavigableMap<Long, Page> pages = new TreeMap<>();

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

  /** Returns the message of that id; null if it was removed or never existed. */
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
    return pages.isEmpty() ? nextSequence : pages.firstKey() << PAGE_BITS;
  }

  /**
   * Returns all messages that {@code filter} accepts, from the lowest number on. Visits every
   * message, so it is only for a broker that starts or stops.
   */
  public List<MessageEntry> find(Predicate<MessageEntry> filter) {
    List<MessageEntry> found = new ArrayList<>();
    for (Page page : pages.values()) {
      for (MessageEntry entry : page.entries) {
        if (entry != null && filter.test(entry)) {
          found.add(entry);
        }
      }
    }
    return found;
  }

  /**
   * The result of one step of a search.
   *
   * @param next the number from which the next step continues; the end of the range if no message
   *     is left
   */
  public record SearchStep(List<MessageEntry> found, long next) {}

  /**
   * Returns up to {@code limit} messages that {@code filter} accepts, with numbers of {@code from}
   * until before {@code end}, in their order. Visits at most {@link #MAX_VISITS} messages.
   */
  public SearchStep search(long from, long end, int limit, Predicate<MessageEntry> filter) {
    List<MessageEntry> found = new ArrayList<>();
    int visits = 0;
    for (Page page : pages.tailMap(pageOf(from), true).values()) {
      for (MessageEntry entry : page.entries) {
        if (entry == null || entry.sequence < from) {
          continue;
        }
        if (entry.sequence >= end) {
          return new SearchStep(found, end);
        }
        if (visits == MAX_VISITS || found.size() == limit) {
          return new SearchStep(found, entry.sequence);
        }
        visits++;
        if (filter.test(entry)) {
          found.add(entry);
        }
      }
    }
    return new SearchStep(found, end);
  }

  private static long pageOf(long sequence) {
    return sequence >>> PAGE_BITS;
  }

  private static int slotOf(long sequence) {
    return (int) sequence & (PAGE_SIZE - 1);
  }
}
