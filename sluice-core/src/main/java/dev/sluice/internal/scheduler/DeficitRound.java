package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Turns by weight: in every round each member may spend its quantum, one item at a visit. */
final class DeficitRound<E extends DeficitRound.Member<E>> {
  /*
   * Nested deficit round robin [1]: within a round members are visited in turn, one item at a time,
   * until each has spent its quantum; what is left of it, less than one item, carries over. So a
   * heavy member's items are spread over the round, and a round cut off anywhere is still fair.
   *
   * Every step is O(1): a quantum is at least the cost of any item, so a member that begins a round
   * can always go once.
   *
   * [1] S. Kanhere, H. Sethu: Fair, efficient and low-latency packet scheduling using nested deficit
   *     round robin, HPSR 2001.
   */

  /** A member of a round. */
  abstract static class Member<E extends Member<E>> extends IntrusiveList.Link<E> {
    /** The cost it may still spend. */
    public long deficit;

    /** Whether it has begun the round, or one that it left before it was over for it. */
    boolean inTurn;

    /** The round that it has begun. */
    private long begun = -1;

    private boolean away;

    /** Whether it has ever begun a round. */
    final boolean isNew() {
      return begun < 0;
    }

    /** Whether it has begun this round. */
    final boolean hasBegun(long round) {
      return begun == round;
    }

    abstract long quantum();
  }

  private IntrusiveList<E> current = new IntrusiveList<>();
  private IntrusiveList<E> later = new IntrusiveList<>();
  private long number;

  /** Members that will be back soon and have not spent all of this round's quantum. */
  private int away;

  long number() {
    return number;
  }

  /** Adds those who take part, as long as {@code all} has less than so many. */
  void list(List<E> all, int limit) {
    current.list(all, limit);
    later.list(all, limit);
  }

  boolean isEmpty() {
    return current.isEmpty() && later.isEmpty();
  }

  /**
   * Returns the member to visit now; a round without members gives way to the next, but not while
   * somebody is away who has something left to spend in it.
   */
  @Nullable E first() {
    if (current.isEmpty() && away == 0) {
      IntrusiveList<E> over = current;
      current = later;
      later = over;
      number++;
    }
    return current.first();
  }

  /**
   * Takes part, or comes back, to spend {@code cost} next.
   *
   * <p>Who has spent its quantum in this round waits for the next; who was away when its round
   * ended finishes that first, at once: it may be away most of the time, an item at a time.
   */
  void add(E member, long cost) {
    boolean thisRound = ((Member<E>) member).begun == number;
    if (thisRound) {
      (member.inTurn ? current : later).addLast(member);
    } else if (member.inTurn && member.deficit >= cost) {
      current.addFirst(member);
    } else {
      member.inTurn = false;
      current.addLast(member);
    }
  }

  /** {@code member} is away, for the time of one item. */
  void goAway(E member) {
    Member<E> leaving = member;
    boolean hasMore = leaving.inTurn && leaving.deficit > 0 && leaving.begun == number;
    if (hasMore && !leaving.away) {
      leaving.away = true;
      away++;
    }
  }

  /** {@code member} is back, or will not be back. Whether somebody may have waited for that. */
  boolean markReturned(E member) {
    boolean wasAway = ((Member<E>) member).away;
    if (wasAway) {
      ((Member<E>) member).away = false;
      away--;
    }
    return wasAway;
  }

  /** Takes part from the next round on. */
  void addLater(E member) {
    later.addLast(member);
  }

  /**
   * Whether {@code member}, the first, can spend {@code cost}; if not, the round is over for it.
   */
  boolean spendOrEndRound(E member, long cost) {
    begin(member);
    if (member.deficit >= cost) {
      return true;
    }
    member.inTurn = false;
    member.unlink();
    later.addLast(member);
    return false;
  }

  /** Gives {@code member} its quantum, unless it has it. */
  void begin(E member) {
    if (!member.inTurn) {
      member.inTurn = true;
      ((Member<E>) member).begun = number;
      member.deficit += member.quantum();
    }
  }
}
