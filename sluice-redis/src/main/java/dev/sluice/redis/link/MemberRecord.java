package dev.sluice.redis.link;

import org.jspecify.annotations.Nullable;

/** What this node knows of the fleet and of its own part in it. Thread-safe. */
final class MemberRecord {
  /** Known by a node that has never been a member, but knows that there were others. */
  private static final long SOME_EPOCH = 1;

  private final int expectedNodes;
  private volatile @Nullable FleetView view;
  private volatile @Nullable FleetView probed;
  private volatile boolean claims;
  private volatile long epoch;

  MemberRecord(int expectedNodes) {
    this.expectedNodes = expectedNodes;
  }

  /** Returns the fleet as Redis has told this member last; null before the first time. */
  @Nullable FleetView view() {
    return view;
  }

  /** Returns the fleet as the last probe found it: reports, which precede the return, carry it. */
  @Nullable FleetView probed() {
    return probed;
  }

  void probed(FleetView found) {
    probed = found;
  }

  /** Adopts a view. */
  void see(FleetView seen) {
    FleetView last = view;
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

  /** Returns this node's parts of every limit; those that it expects before it is a member. */
  int share() {
    FleetView last = view;
    return last == null ? Membership.PARTS / expectedNodes : last.share();
  }

  /**
   * Returns what a heartbeat says of this node.
   *
   * @param aloneSinceMicros since when it has granted by itself, in the time of Redis; 0 if never
   */
  Heartbeats.Self self(long aloneSinceMicros) {
    FleetView last = view;
    return last != null
        ? new Heartbeats.Self(last.share(), claims, last.epoch(), 0, last.sharesOfAll())
        : new Heartbeats.Self(
            aloneSinceMicros > 0 ? share() : 0, claims, epoch, aloneSinceMicros, 0);
  }
}
