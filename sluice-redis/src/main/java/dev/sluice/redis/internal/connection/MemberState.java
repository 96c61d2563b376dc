package dev.sluice.redis.internal.connection;

import org.jspecify.annotations.Nullable;

/** The last view of the fleet, and the share of this node. Thread-safe. */
final class MemberState {
  /** Known by a node that has never been a member, but knows that there were others. */
  private static final long SOME_EPOCH = 1;

  private final int expectedNodes;
  private volatile @Nullable MembersView view;
  private volatile @Nullable MembersView probed;
  private volatile boolean claims;
  private volatile long epoch;
  private volatile @Nullable String otherLayout;

  MemberState(int expectedNodes) {
    this.expectedNodes = expectedNodes;
  }

  /** Returns the fleet as Redis has told this member last; null before the first time. */
  @Nullable MembersView view() {
    return view;
  }

  /** Returns the fleet as the last probe found it: reports, which precede the return, carry it. */
  @Nullable MembersView probed() {
    return probed;
  }

  void probed(MembersView found) {
    probed = found;
  }

  /** Adopts a view. */
  void see(MembersView seen) {
    MembersView last = view;
    view = last == null ? seen : seen.sharing(last);
  }

  /** Has Redis reserve a share from the next heartbeat on. */
  void claimShare() {
    claims = true;
  }

  /** There were other members before the data of Redis had its present layout. */
  void earlierLayout(boolean found) {
    epoch = found ? SOME_EPOCH : 0;
  }

  /** Returns the error of Redis if it has data of another layout; else null. */
  @Nullable String otherLayout() {
    return otherLayout;
  }

  /** Redis has data of another layout, or it has not: null. */
  void otherLayout(@Nullable String error) {
    otherLayout = error;
  }

  /** Returns this node's parts of every limit; those that it expects before it is a member. */
  int share() {
    MembersView last = view;
    return last == null ? MembershipConfig.PARTS / expectedNodes : last.share();
  }

  /**
   * Returns what a heartbeat says of this node.
   *
   * @param aloneSinceMicros since when it has granted by itself, in the time of Redis; 0 if never
   */
  Heartbeats.HeartbeatState self(long aloneSinceMicros) {
    MembersView last = view;
    return last != null
        ? new Heartbeats.HeartbeatState(last.share(), claims, last.epoch(), 0, last.sharesOfAll())
        : new Heartbeats.HeartbeatState(
            aloneSinceMicros > 0 ? share() : 0, claims, epoch, aloneSinceMicros, 0);
  }
}
