package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/**
 * Messages that have moved, by the number in their id. A hash table of chains through the entries
 * themselves: with objects of its own for each, a queue of dead letters would take half as much
 * memory again.
 */
final class MovedEntries {
  private static final int MIN_CHAINS = 16;

  private @Nullable MovedEntry[] chains = new MovedEntry[MIN_CHAINS];
  private int size;

  /** Adds {@code entry}; while one of the same number is there, it is found instead of that. */
  void add(MovedEntry entry) {
    if (size >= chains.length) {
      resize(2 * chains.length);
    }
    link(entry);
    size++;
  }

  @Nullable MovedEntry get(long firstSequence) {
    MovedEntry found = chains[chainOf(firstSequence)];
    while (found != null && found.firstSequence() != firstSequence) {
      found = found.next;
    }
    return found;
  }

  void remove(MovedEntry entry) {
    int chain = chainOf(entry.firstSequence());
    MovedEntry before = null;
    MovedEntry at = chains[chain];
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

  private void link(MovedEntry entry) {
    int chain = chainOf(entry.firstSequence());
    entry.next = chains[chain];
    chains[chain] = entry;
  }

  /** Links each chain from its end, so that the entry added last stays before the others. */
  private void resize(int length) {
    @Nullable MovedEntry[] all = chains;
    chains = new MovedEntry[length];
    for (MovedEntry first : all) {
      MovedEntry reversed = null;
      for (MovedEntry entry = first; entry != null; ) {
        MovedEntry following = entry.next;
        entry.next = reversed;
        reversed = entry;
        entry = following;
      }
      while (reversed != null) {
        MovedEntry following = reversed.next;
        link(reversed);
        reversed = following;
      }
    }
  }

  /** Spreads neighbouring numbers, and those of one opening of the store, over all chains. */
  private int chainOf(long firstSequence) {
    long mixed = firstSequence * 0x9e3779b97f4a7c15L;
    return (int) (mixed >>> (Long.SIZE - Integer.numberOfTrailingZeros(chains.length)));
  }
}
