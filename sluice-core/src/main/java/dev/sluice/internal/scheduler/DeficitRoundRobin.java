package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Takes turns between new members and those that take part in rounds. */
final class DeficitRoundRobin<E extends DeficitRound.Member<E>> {
  /*
   * As in RFC 8290, a member that was idle is fresh, and takes part in the rounds after its first
   * item. Unlike there, fresh and old members alternate item by item, so that neither an old one
   * waits for an endless stream of fresh ones nor a fresh one for a round of the old.
   */
  private final IntrusiveList<E> fresh = new IntrusiveList<>();
  private final DeficitRound<E> old = new DeficitRound<>();
  private boolean freshNext = true;

  // Members that left in the present round, at most as many as it has items.
  private Set<String> gone = Set.of();
  private long goneRound = -1;

  boolean isEmpty() {
    return fresh.isEmpty() && old.isEmpty();
  }

  /** Adds members that take part, as long as {@code all} has less than so many. */
  void list(List<E> all, int limit) {
    fresh.list(all, limit);
    old.list(all, limit);
  }

  @Nullable E first() {
    E freshest = fresh.first();
    if (freshest != null && freshNext) {
      return freshest;
    }
    E oldest = old.first();
    return oldest == null ? freshest : oldest;
  }

  /**
   * Returns whether {@code member}, the first, can spend {@code cost}; if not, ends the round for
   * it.
   */
  boolean spendOrEndRound(E member, long cost) {
    if (member.isIn(fresh)) {
      old.begin(member);
      return true;
    }
    return old.spendOrEndRound(member, cost);
  }

  /** Takes {@code cost} from {@code member}, the first; then it is the turn of the others. */
  void spent(E member, long cost) {
    member.spend(cost);
    if (member.isLinked()) {
      freshNext = !member.isIn(fresh);
    }
  }

  /** {@code member} is away, for the time of one item: the round does not end without it. */
  void goAway(E member) {
    old.goAway(member);
  }

  /** {@code member} is back, or will not be back; returns whether the round waited for it. */
  boolean comeBack(E member) {
    return old.markReturned(member);
  }

  /** Removes {@code member}, but remembers {@code key} in case it returns in this round. */
  void forget(E member, String key) {
    if (!old.isEmpty() && member.hasBegun(old.number())) {
      if (goneRound != old.number()) {
        gone = new HashSet<>();
        goneRound = old.number();
      }
      gone.add(key);
    }
  }

  /** Returns whether the member of {@code key} left in this round after its turn; forgets that. */
  boolean reclaimTurn(String key) {
    return goneRound == old.number() && gone.remove(key);
  }

  /** Adds a new member. */
  void addFresh(E member) {
    fresh.addLast(member);
  }

  /** Takes part in the rounds, or comes back, to spend {@code cost} next. */
  void add(E member, long cost) {
    old.add(member, cost);
  }

  /** Takes part from the next round on. */
  void addLater(E member) {
    old.addLater(member);
  }
}
