package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Deficit round robin: in every round each member may spend its quantum, one item at a visit. */
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
    private long deficit;

    /** True if it has begun this round, or one that it left before its turn was over. */
    private boolean inTurn;

    /** The round that it has begun. */
    private long begun = -1;

    private boolean away;

    /** Returns whether it has ever begun a round. */
    final boolean isNew() {
      return begun < 0;
    }

    /** Returns whether it has begun this round. */
    final boolean hasBegun(long round) {
      return begun == round;
    }

    /** Returns the cost it may still spend. */
    public final long deficit() {
      return deficit;
    }

    final void spend(long cost) {
      deficit -= cost;
    }

    final void refund(long cost) {
      deficit += cost;
    }

    /** Clamps the deficit to the new quantum after a change. */
    final void capDeficit() {
      deficit = Math.min(deficit, quantum());
    }

    /** Ends its part in the round; what is left of its quantum is lost. */
    final void forfeit() {
      deficit = 0;
      inTurn = false;
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

  /** Adds members that take part, as long as {@code all} has less than so many. */
  void list(List<E> all, int limit) {
    current.list(all, limit);
    later.list(all, limit);
  }

  boolean isEmpty() {
    return current.isEmpty() && later.isEmpty();
  }

  /**
   * Returns the member to visit now. A round without members gives way to the next, unless a member
   * is away that has something left to spend in it.
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
   * <p>A member that has spent its quantum in this round waits for the next. A member that was away
   * when its round ended finishes that round first, at once, because it may be away most of the
   * time, an item at a time.
   */
  void add(E member, long cost) {
    Member<E> state = member;
    if (state.begun == number) {
      (state.inTurn ? current : later).addLast(member);
    } else if (state.inTurn && state.deficit >= cost) {
      current.addFirst(member);
    } else {
      state.inTurn = false;
      current.addLast(member);
    }
  }

  /** {@code member} is away, for the time of one item. */
  void goAway(E member) {
    Member<E> state = member;
    boolean hasMore = state.inTurn && state.deficit > 0 && state.begun == number;
    if (hasMore && !state.away) {
      state.away = true;
      away++;
    }
  }

  /** {@code member} is back, or will not be back; returns whether the round waited for it. */
  boolean markReturned(E member) {
    Member<E> state = member;
    boolean wasAway = state.away;
    if (wasAway) {
      state.away = false;
      away--;
    }
    return wasAway;
  }

  /** Takes part from the next round on. */
  void addLater(E member) {
    later.addLast(member);
  }

  /**
   * Returns whether {@code member}, the first, can spend {@code cost}; if not, ends the round for
   * it.
   */
  boolean spendOrEndRound(E member, long cost) {
    Member<E> state = member;
    begin(member);
    if (state.deficit >= cost) {
      return true;
    }
    state.inTurn = false;
    member.unlink();
    later.addLast(member);
    return false;
  }

  /** Gives {@code member} its quantum, unless it has it. */
  void begin(E member) {
    Member<E> state = member;
    if (!state.inTurn) {
      state.inTurn = true;
      state.begun = number;
      state.deficit += member.quantum();
    }
  }
}
