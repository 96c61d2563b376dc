package dev.sluice.internal.scheduler;

import dev.sluice.LimitStats;
import dev.sluice.ScheduledItem;
import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.util.IndexedHeap;
import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** A throttle key of a scheduler: its bucket, if it has a rate, and the line of those who wait. */
public final class LimitGate extends IndexedHeap.Node<LimitGate> {
  /*
   * Invariant, once the scheduler has looked at every touched gate: if a lane in line could have the
   * tokens it needs next, it has been let through. So at rest the gate is armed for the instant at
   * which the first in line can go, or waits for a promise to be kept, or nobody with credit waits.
   *
   * Promises. A waiter that is let through becomes ready and takes the tokens only when its turn
   * comes in its queue; until then they are promised, and no other waiter gets them. Promises to a queue without
   * credit, or to priorities that it does not serve now, do not count, so that they hold up nobody;
   * should such a sub-queue come too late, it finds the tokens gone and waits again, in front.
   *
   * Order. While the waiting list is not empty, a new waiter goes behind it. Otherwise small costs
   * could starve a large one for ever.
   */

  /** Items whose tokens are summed up for one who looks on, for nothing goes meanwhile. */
  private static final int MAX_LOOKED_AT = 10_000;

  public final String name;
  private final SchedulerCore core;

  /** Null while the key has no rate. */
  public @Nullable ConfinedTokenBucket bucket;

  /** Tokens that items took and did not give back; see {@link #taken()}. */
  private long net;

  /** The most that {@link #net} ever was. */
  private long taken;

  /** Sets that name this key. */
  int users;

  /** Lanes in which somebody waits, except the stalled ones. */
  private final IntrusiveList<QueueWaiters> line = new IntrusiveList<>();

  private final List<QueueWaiters> lanes = new ArrayList<>(1);

  /**
   * Sub-queues whose head no time will let through under this rate. If the bucket refills, the head
   * takes more than its burst, and returned tokens do not help either.
   */
  private final IntrusiveList<SubQueue> aside = new IntrusiveList<>();

  /** The waiter that goes first, because other gates hold tokens for it. */
  private @Nullable SubQueue favoured;

  /** When the first in line can go, in nanoseconds since the scheduler's origin. */
  private long wakeAt;

  /** The lane for which the gate is armed, if a smaller cost than its could go earlier. */
  private @Nullable QueueWaiters armedFor;

  /** The queue in whose heap it is armed, if not in the one of all. */
  @Nullable QueueState armedBy;

  LimitGate(String name, SchedulerCore core) {
    this.name = name;
    this.core = core;
  }

  /** Asks the scheduler to look at this gate before it decides anything. */
  void touch() {
    core.touch(this);
  }

  QueueWaiters laneOf(QueueState queue) {
    for (QueueWaiters lane : lanes) {
      if (lane.queue == queue) {
        return lane;
      }
    }
    QueueWaiters lane = new QueueWaiters(this, queue);
    lanes.add(lane);
    updateContests();
    return lane;
  }

  /** {@code lane} has somebody new in line. */
  void joined(QueueWaiters lane) {
    if (!lane.isLinked()) {
      line.addLast(lane);
    }
    touch();
  }

  void drop(QueueWaiters lane) {
    lanes.remove(lane);
    lane.queue.contested.remove(lane);
    if (armedFor == lane) {
      armedFor = null;
    }
    updateContests();
  }

  private void updateContests() {
    for (QueueWaiters lane : lanes) {
      updateContest(lane);
    }
  }

  /** A lane is contested if others at its gate may go should its queue run out of credit. */
  void updateContest(QueueWaiters lane) {
    if (lanes.size() > 1 && (lane.hasPromises() || armedFor == lane)) {
      lane.queue.contested.add(lane);
    } else {
      lane.queue.contested.remove(lane);
    }
  }

  /** Whether {@code sub}, whose head needs {@code tokens} here, may go now. */
  boolean admits(SubQueue sub, long tokens, long round, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    if (limiter == null) {
      return true;
    }
    if (sub.promised || sub.held.contains(this)) {
      return limiter.has(tokens, nowNanos);
    }
    return (!isContended(sub) || sub.hadTurnAt(this, round))
        && limiter.has(withPromises(tokens), nowNanos);
  }

  /** Takes {@code tokens}, which must be there if the key has a rate. */
  void take(long tokens, long charge, long nowNanos) {
    if (bucket != null) {
      bucket.take(tokens, charge, nowNanos);
      net += tokens;
      taken = Math.max(taken, net);
    }
  }

  /** Returns {@code tokens} of a charge, except for those that refills have made up for. */
  public void giveBack(long tokens, long charge, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    if (limiter != null && limiter.isCharged(charge)) {
      net -= tokens;
      limiter.giveBack(tokens, charge, nowNanos);
      if (limiter.refills()) {
        touch();
      } else {
        retryAside();
      }
    }
  }

  /**
   * Returns the tokens that items took so far, without returned ones. Never decreases: after a
   * return, as many further tokens are not counted.
   */
  public long taken() {
    return taken;
  }

  /** Nanoseconds until the bucket alone would let {@code tokens} through. */
  long nanosUntil(long tokens, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    return limiter == null ? 0 : limiter.nanosUntil(tokens, nowNanos);
  }

  /** Returns what the bucket must hold to have {@code tokens} beside all that is promised. */
  private long withPromises(long tokens) {
    long promised = 0;
    for (QueueWaiters lane : lanes) {
      promised += lane.promised();
    }
    return tokens > Long.MAX_VALUE - promised ? Long.MAX_VALUE : tokens + promised;
  }

  /** The lane whose turn it is; those without credit go over to their queues until they have. */
  private @Nullable QueueWaiters firstInLine() {
    QueueWaiters lane = line.first();
    while (lane != null && !lane.queue.hasCredit()) {
      lane.unlink();
      lane.queue.stalled.addLast(lane);
      lane = line.first();
    }
    return lane;
  }

  /** Whether somebody waits who could go. */
  boolean isAwaited() {
    return favoured != null || firstInLine() != null;
  }

  /** Whether something of {@code queue} waits here, aside from what no time lets through. */
  boolean isAwaitedBy(QueueState queue) {
    if (favoured != null && favoured.flow.queue == queue) {
      return true;
    }
    return lanes.stream().anyMatch(lane -> lane.queue == queue && lane.isWaiting());
  }

  /**
   * Whether others than {@code sub} wait here, or were let through and may be back: then turns are
   * taken here, and nobody passes.
   */
  private boolean isContended(SubQueue sub) {
    if (isAwaited()) {
      return true;
    }
    int seats = sub.seat != null && sub.seat.lane.gate == this ? -1 : 0;
    for (QueueWaiters lane : lanes) {
      seats += lane.queue.hasCredit() ? lane.seats : 0;
    }
    return seats > 0;
  }

  /** Parks {@code sub}, which is not among the ready ones of its flow, until it can go. */
  void park(SubQueue sub, long nowNanos) {
    sub.withdraw();
    sub.parkedAt = this;
    if (nanosUntil(sub.head().tokensAt(this), nowNanos) == ConfinedTokenBucket.NEVER) {
      sub.leaveSeat();
      aside.addLast(sub);
      return;
    }
    sub.seatAt(this).take(sub);
  }

  /** The queue of {@code lane} has credit again. */
  void resume(QueueWaiters lane) {
    line.addLast(lane);
    touch();
  }

  /** Lets through whoever can go, in turn, and asks to be woken for the next. */
  void release(long nowNanos) {
    armedFor = null;
    SubQueue sub;
    while ((sub = turn(nowNanos)) != null) {
      long tokens = sub.head().tokensAt(this);
      long waitNanos = nanosUntil(withPromises(tokens), nowNanos);
      if (waitNanos == 0) {
        letThrough(sub, nowNanos);
      } else if (nanosUntil(tokens, nowNanos) == ConfinedTokenBucket.NEVER) {
        leave(sub);
        park(sub, nowNanos);
      } else {
        arm(laneOf(sub.flow.queue), tokens, waitNanos, nowNanos);
        return;
      }
    }
    core.disarm(this);
  }

  /** Returns the waiter that goes next. */
  private @Nullable SubQueue turn(long nowNanos) {
    if (favoured != null) {
      return favoured;
    }
    for (QueueWaiters lane = firstInLine(); lane != null; lane = lane.after()) {
      SubQueue sub = lane.queue.hasCredit() ? lane.turn(nowNanos) : null;
      if (sub != null) {
        return sub;
      }
    }
    return null;
  }

  /** {@code sub} waits here no more. */
  void leave(SubQueue sub) {
    if (favoured == sub) {
      favoured = null;
      touch();
    }
    sub.unpark();
  }

  /** {@code sub} waits here before the line. */
  void favour(SubQueue sub) {
    sub.parkedAt = this;
    favoured = sub;
    touch();
  }

  /** How long the bucket takes to make up for {@code tokens}; zero if it never does. */
  long nanosToMint(long tokens) {
    return bucket == null ? 0 : bucket.nanosToMint(tokens);
  }

  /* Without a finite time, it is a promise that must be kept first; that touches the gate. */
  private void arm(QueueWaiters lane, long tokens, long waitNanos, long nowNanos) {
    wakeAt = core.sinceOrigin(nowNanos) + waitNanos;
    if (waitNanos == ConfinedTokenBucket.NEVER || wakeAt < 0) {
      core.disarm(this);
    } else {
      core.arm(this, lane.queue);
    }
    if (tokens > 1) {
      armedFor = lane;
      updateContest(lane);
    }
  }

  private void letThrough(SubQueue sub, long nowNanos) {
    LimitGate other = core.blocker(sub, this, nowNanos);
    if (other != null) {
      leave(sub);
      sub.hasTurnAt(this, core.round());
      core.collector.bounce(sub, this, other, nowNanos);
      return;
    }
    core.collector.done(sub);
    KeyWaiters seat = sub.seat;
    if (seat != null) {
      seat.lane.spent(seat, sub.head().cost);
    }
    leave(sub);
    if (seat != null) {
      seat.leaveLine();
      seat.join();
      if (!seat.isLinked()) {
        seat.lane.goAway(seat);
      }
    }
    QueueWaiters lane = laneOf(sub.flow.queue);
    if (lane.isIn(line)) {
      lane.unlink();
      line.addLast(lane);
    }
    sub.promise();
    sub.flow.ready(sub);
  }

  /** The limit has changed: items that could never go under the old one are tried again. */
  public void limitChanged() {
    core.collector.giveUp();
    retryAside();
  }

  private void retryAside() {
    SubQueue sub;
    while ((sub = aside.first()) != null) {
      sub.unpark();
      sub.flow.ready(sub);
    }
    touch();
  }

  /** Whether several queues are here. */
  boolean isShared() {
    return lanes.size() > 1;
  }

  boolean isUnused() {
    return users == 0 && bucket == null;
  }

  public int waiters() {
    int waiting = aside.size() + (favoured == null ? 0 : 1);
    for (QueueWaiters lane : lanes) {
      waiting += lane.waiters;
    }
    return waiting;
  }

  /** The weights of the fairness keys of {@code queue} that wait here, each once. */
  public long weightOf(QueueState queue) {
    Map<String, Integer> weights = new HashMap<>();
    List<KeyWaiters> seats = new ArrayList<>();
    for (QueueWaiters lane : lanes) {
      if (lane.queue == queue) {
        lane.list(seats, Integer.MAX_VALUE);
      }
    }
    seats.forEach(seat -> weights.put(seat.flow.key, seat.flow.weight));
    for (SubQueue sub = aside.first(); sub != null; sub = sub.after()) {
      addWeight(sub, queue, weights);
    }
    if (favoured != null) {
      addWeight(favoured, queue, weights);
    }
    return weights.values().stream().mapToLong(each -> each).sum();
  }

  private static void addWeight(SubQueue sub, QueueState queue, Map<String, Integer> weights) {
    if (sub.flow.queue == queue) {
      weights.put(sub.flow.key, sub.flow.weight);
    }
  }

  /** Returns the cost of the first waiter that time never lets go; empty without one. */
  public OptionalLong neverAsks() {
    SubQueue first = aside.first();
    return first == null ? OptionalLong.empty() : OptionalLong.of(first.head().tokensAt(this));
  }

  /** Those who wait, about in the order in which they go, but no more than so many. */
  public List<LimitStats.Waiter> waiters(int limit) {
    List<List<SubQueue>> found = new ArrayList<>();
    if (favoured != null && limit > 0) {
      found.add(List.of(favoured));
    }
    List<KeyWaiters> seats = new ArrayList<>();
    for (QueueWaiters lane : lanes) {
      lane.list(seats, limit - found.size());
    }
    seats.forEach(seat -> found.add(seat.parked()));
    for (SubQueue sub = aside.first(); sub != null && found.size() < limit; sub = sub.after()) {
      found.add(List.of(sub));
    }
    int most = Math.max(1, MAX_LOOKED_AT / Math.max(1, found.size()));
    return found.stream().map(each -> waiter(each, most)).toList();
  }

  /** Of more than so many items, the tokens are those of the first ones in proportion. */
  private LimitStats.Waiter waiter(List<SubQueue> subs, int most) {
    long items = 0;
    long seen = 0;
    double tokens = 0;
    for (SubQueue sub : subs) {
      items += sub.items.size();
      ScheduledItem<?> item = sub.head();
      for (; item != null && seen < most; item = item.after()) {
        tokens += item.tokensAt(this);
        seen++;
      }
    }
    SubQueue first = subs.get(0);
    return new LimitStats.Waiter(
        first.flow.queue.name,
        first.flow.key,
        (int) items,
        Math.round(tokens * items / seen),
        first.head().tokensAt(this));
  }

  @Override
  public long rank() {
    return wakeAt;
  }

  @Override
  public String toString() {
    return name;
  }
}
