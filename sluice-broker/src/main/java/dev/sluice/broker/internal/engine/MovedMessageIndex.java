package dev.sluice.broker.internal.engine;

import org.jspecify.annotations.Nullable;

/**
 * Messages that have moved, by the number in their id. A hash table of chains through the entries
 * themselves: with objects of its own for each, a queue of dead letters would take half as much
 * memory again.
 */
public final class MovedMessageIndex {
  private static final int MIN_CHAINS = 16;

  private @Nullable MovedMessageEntry[] chains = new MovedMessageEntry[MIN_CHAINS];
  private int size;

  /** Adds {@code entry}; while one of the same number is there, it is found instead of that. */
  public void add(MovedMessageEntry entry) {
    if (size >= chains.length) {
      resize(2 * chains.length);
    }
    link(entry);
    size++;
  }

  public @Nullable MovedMessageEntry get(long firstSequence) {
    MovedMessageEntry found = chains[chainOf(firstSequence)];
    while (found != null && found.firstSequence() != firstSequence) {
      found = found.next;
    }
    return found;
  }

  public void remove(MovedMessageEntry entry) {
    int chain = chainOf(entry.firstSequence());
    MovedMessageEntry before = null;
    MovedMessageEntry at = chains[chain];
    while (at != entry) {
      if (at == null) {
        throw new IllegalStateException("not in the index: " + entry);
      }
      before = at;
      at = at.next;
    }
    if (before == null) {
      chains[chain] = entry.next;
    } else {
      before.next = entry.next;
    }
    entry.next = null;
    size--;
    if (size < chains.length / 8 && chains.length > MIN_CHAINS) {
      resize(chains.length / 2);
    }
  }

  private void link(MovedMessageEntry entry) {
    int chain = chainOf(entry.firstSequence());
    entry.next = chains[chain];
    chains[chain] = entry;
  }

  /** Links each chain from its end, so that the entry added last stays before the others. */
  private void resize(int length) {
    @Nullable MovedMessageEntry[] all = chains;
    chains = new MovedMessageEntry[length];
    for (MovedMessageEntry first : all) {
      MovedMessageEntry reversed = null;
      for (MovedMessageEntry entry = first; entry != null; ) {
        MovedMessageEntry following = entry.next;
        entry.next = reversed;
        reversed = entry;
        entry = following;
      }
      while (reversed != null) {
        MovedMessageEntry following = reversed.next;
        link(reversed);
        reversed = following;
      }
    }
  }

  /** Spreads neighboring numbers, and those of one opening of the store, over all chains. */
  private int chainOf(long firstSequence) {
    long mixed = firstSequence * 0x9e3779b97f4a7c15L;
    return (int) (mixed >>> (Long.SIZE - Integer.numberOfTrailingZeros(chains.length)));
  }
}
